"""The 2014 proposal: its tables, and the steps of its coordinator, producers, leaders and readers."""

from zombieproof.statemachines.proposal2014.tables import COORDINATOR as COORDINATOR
from zombieproof.statemachines.proposal2014.tables import JOURNAL as JOURNAL
from zombieproof.statemachines.proposal2014.tables import LEADER as LEADER
from zombieproof.statemachines.proposal2014.tables import OFFSETS as OFFSETS
from zombieproof.statemachines.proposal2014.tables import PRODUCER as PRODUCER
