"""What a finding means: what became of which records, when, and what to do."""
