"""The live system: coordinators, partition leaders and group coordinators over logs, interpreted.

Theory of operation: every part is sans-I/O. A part looks records up, lets ``zombieproof.model.decisions`` decide, lets
the tables of ``zombieproof.statemachines`` say what follows, makes the event durable, and answers. One *step* is one
event handled (a request, an answer between brokers, a durable append, a sweep of a clock); nothing runs by itself.
Time comes from an injected clock, stores are an interface (``log.Log``), and brokers talk by messages that whoever
drives them may hold back, double or lose.
"""
