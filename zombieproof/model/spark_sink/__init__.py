"""What is true of a sink and a source of Spark that are exact: vocabulary and decisions, with no word of its API."""
