"""The group of the classic protocol: its table and its steps."""

from zombieproof.statemachines.classic_group.table import CLASSIC_GROUP as CLASSIC_GROUP
