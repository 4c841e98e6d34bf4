"""What an explanation looks at: a finding, and what the evidence has around it."""
