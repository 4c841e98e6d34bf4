"""The pipeline: rows from a log through a job and into a log, each exactly once (extra `spark`).

Nothing of it is imported by `import zombieproof`; each part asks for what it needs when it is imported.
"""
