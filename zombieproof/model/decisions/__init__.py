"""One file for each API key or server action: its rows in Kafka's order, its effect, its versions.

A decision reads attributes of small records and integers and returns a verdict; it changes nothing.
An evolution writes the attributes of one record. Hosts (checker, replay, broker) call both; nobody else decides.
"""
