"""Kafka's exactly-once protocol as explicit state machines.

Start at `zombieproof.model` (what is true), `zombieproof.statemachines` (what may follow what),
`zombieproof.checker` (what can happen) and `zombieproof.traces` (what happened).
"""
