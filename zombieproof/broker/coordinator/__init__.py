"""The transaction coordinator of a broker: ids, their log, markers, and producer ids."""
