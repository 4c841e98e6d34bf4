"""Why a finding can have happened: known causes, each recognised by what speaks for it."""
