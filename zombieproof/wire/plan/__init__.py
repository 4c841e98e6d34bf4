"""Misbehaviour as data: which requests, what becomes of them, when; and who carries it out at a cluster that runs.

`parts` says what a plan is, `files` reads one, `legal` says what cannot be. `player` decides which fault a request
meets, without a cluster; `play` carries it out at one, in process or behind a server. `report` tells what came of it.
`stories` are plans with a name.
"""
