"""A farm: many independent explorations, planned as data, run by any number of processes, each result kept once.

`plan` reads what is to be explored, `expanding` makes jobs of it, `tasks` groups small jobs, `exploring` runs one,
`running` hands them to a runner and keeps what is found in a `store`, so that a farm that was stopped goes on. Runners
are here (`runners`, in this process or in others) and in `zombieproof.pipeline.farm` (Spark). One exploration is never
spread over processes.
"""
