"""What happened: readers of everything that Kafka clusters leave behind, and what is concluded from it.

`zombieproof.traces.readers.collect.collect` turns files and folders into one `zombieproof.traces.evidence.Evidence`.
"""
