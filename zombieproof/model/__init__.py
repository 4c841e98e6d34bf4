"""What is true: the rules of Kafka's transaction protocol, as data and pure functions.

Imports nothing but the standard library; knows no clock, no chance, no socket, no thread.
"""
