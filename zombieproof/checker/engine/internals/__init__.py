"""Everything that depends on private parts: Numba's pipeline and calling convention, bytecode, frames.

`expected` decides once in a process whether they are as this folder expects them. Where they are not, the engine uses
`public` instead, and nothing here is imported but `native`, `identity` and `room`, which then go unused.
"""
