"""All machines, by name: those of the transaction protocol, of the other models, and what live brokers need as well."""

from collections.abc import Mapping

from zombieproof.statemachines.classic_group import CLASSIC_GROUP
from zombieproof.statemachines.connection import CONNECTION
from zombieproof.statemachines.consumer import CONSUMER
from zombieproof.statemachines.consumer_group_member import CONSUMER_GROUP_MEMBER
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.delivery import DELIVERY
from zombieproof.statemachines.group_coordinator import GROUP_COORDINATOR
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.micro_batch_reader import MICRO_BATCH_READER
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.statemachines.producer import PRODUCER
from zombieproof.statemachines.proposal2014 import COORDINATOR as PROPOSAL_COORDINATOR
from zombieproof.statemachines.proposal2014 import JOURNAL as PROPOSAL_JOURNAL
from zombieproof.statemachines.proposal2014 import LEADER as PROPOSAL_LEADER
from zombieproof.statemachines.proposal2014 import OFFSETS as PROPOSAL_OFFSETS
from zombieproof.statemachines.proposal2014 import PRODUCER as PROPOSAL_PRODUCER

MACHINES: Mapping[str, Machine] = {
    machine.name: machine for machine in (COORDINATOR, PRODUCER, PARTITION_LEADER, GROUP_COORDINATOR, CONSUMER)
}
"""The machines of the protocol: what its scenarios explore, and traces tell of."""

PROPOSAL2014: Mapping[str, Machine] = {
    machine.name: machine
    for machine in (PROPOSAL_COORDINATOR, PROPOSAL_JOURNAL, PROPOSAL_PRODUCER, PROPOSAL_LEADER, PROPOSAL_OFFSETS)
}
"""The machines of the 2014 proposal; its consumer is the live one."""

EXPLORED: Mapping[str, Machine] = {
    **MACHINES,
    DELIVERY.name: DELIVERY,
    MICRO_BATCH_READER.name: MICRO_BATCH_READER,
    **PROPOSAL2014,
}
"""The same, those of the Spark sink and of the 2014 proposal: every machine that some model of the checker runs."""

ALL_MACHINES: Mapping[str, Machine] = {
    **MACHINES,
    CLASSIC_GROUP.name: CLASSIC_GROUP,
    CONSUMER_GROUP_MEMBER.name: CONSUMER_GROUP_MEMBER,
    CONNECTION.name: CONNECTION,
    DELIVERY.name: DELIVERY,
    MICRO_BATCH_READER.name: MICRO_BATCH_READER,
    **PROPOSAL2014,
}
"""Every machine that there is: what is drawn and listed."""

COVERED: tuple[int, int, int] = (
    len(ALL_MACHINES),
    max(len(machine.states) for machine in ALL_MACHINES.values()),
    max(len(machine.events) for machine in ALL_MACHINES.values()),
)
"""How many machines, states and events there are at most: what a model says that has moves of them counted."""
