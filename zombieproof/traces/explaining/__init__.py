"""Explaining what was found.

`relations` says which finding explains which. For each that is reported `explain` puts together, from its `scene/`, its
`meaning/` and its `causes/`. `timeline/` tells what happened in order, `open/` what is open.
"""
