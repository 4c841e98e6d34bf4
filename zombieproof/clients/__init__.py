"""What a client does: the producer without sockets, threads and clock.

Whoever drives it asks for the next request, delivers it, and hands the answer back, or says that none will come.
"""
