"""What replay answers, as data: faults, what is known of them, findings, explanations, the report."""
