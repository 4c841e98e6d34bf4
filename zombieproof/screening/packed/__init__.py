"""Segments as Parquet, a file for each: what the screen and the judges need of them, without what records hold.

`layout` is what such a file holds, `parts` what is taken of a segment, `writing` and `folders` pack, `reading` gives
columns to the screen, `contents` evidence to the judges. pyarrow is loaded by whoever is called first.
Documented in docs/packed.md.
"""
