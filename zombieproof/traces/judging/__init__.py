"""From evidence to findings.

`histories/` folds one log each through the decisions, `folded` all of them; `judges` lists who judges them: by one log
alone while it is folded, by several in `across/`. `gathering/` says what was given and what was not.
"""
