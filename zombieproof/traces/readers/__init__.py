"""From files to evidence: every format and dialect, and how the files of one call become one body of evidence."""
