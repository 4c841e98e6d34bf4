"""What may follow what: every machine of the protocol as one table of rows."""
