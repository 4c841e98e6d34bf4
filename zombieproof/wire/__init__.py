"""Kafka's protocol on the wire: schemas, frames, a connection without I/O, a server (extra ``wire``)."""
