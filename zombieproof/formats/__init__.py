"""What is stored: Kafka's logs and the files beside them, in Kafka's bytes, read and written; bytes in, bytes out."""
