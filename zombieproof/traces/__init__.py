"""What happened: readers of everything that Kafka clusters leave behind, and what is concluded from it.

In floors: `trace` is the project's own format, `evidence` what was recorded, `readers/` make it of files and folders,
`judging/` finds what is broken, `explaining/` says what that means; `verdict/` is what all of it answers, as data.
`replay` puts them together.
"""
