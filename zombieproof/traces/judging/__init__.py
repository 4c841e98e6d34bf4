"""From evidence to findings: histories folded through the decisions, and the promises they are judged by."""
