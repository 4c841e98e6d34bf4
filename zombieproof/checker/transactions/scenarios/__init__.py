"""The scenarios of the transaction protocol, one file for each family."""
