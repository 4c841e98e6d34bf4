"""Recorded answers of a real broker, replayed against a *subject*: does it answer the same, request by request?

Theory of operation: a recording is a list of sequences; a sequence is a list of steps, each a request and the answer
that a real broker gave. Names stand for what differs from run to run (``p0`` is the first producer id that was
granted). Here a step becomes a typed request, the subject answers, the typed answer takes the recorded form again,
and the two forms are compared. A subject is told nothing but requests: no recorded answer ever reaches it.

recording: reads and refuses; forms, steps: what a request looks like, made of the registry of messages;
recorded_names: what recordings call things; symbols: names and values; to_requests, to_answers: between forms and
messages; subject, in_process: who is asked; runner: plays; comparison: what differs, and why.
"""
