"""A verdict from outside: what clients were told and what they read, and nothing else.

Independent on purpose of decisions, state machines and the readers of logs: nothing of the protocol is known here but
what it promises to applications. `events` is what a history consists of, `history_file` and `writer` read and write
it, `facts` folds it, `rules/` find what must not be, `judge` puts them together.
"""
