"""All machines, by name: those of the transaction protocol, and those beside it that live brokers need as well."""

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

MACHINES: Mapping[str, Machine] = {
    machine.name: machine for machine in (COORDINATOR, PRODUCER, PARTITION_LEADER, GROUP_COORDINATOR, CONSUMER)
}
"""The machines of the protocol: what its scenarios explore, and traces tell of."""

EXPLORED: Mapping[str, Machine] = {
    **MACHINES,
    DELIVERY.name: DELIVERY,
    MICRO_BATCH_READER.name: MICRO_BATCH_READER,
}
"""The same, and those of the Spark sink: every machine that some model of the checker runs."""

ALL_MACHINES: Mapping[str, Machine] = {
    **MACHINES,
    CLASSIC_GROUP.name: CLASSIC_GROUP,
    CONSUMER_GROUP_MEMBER.name: CONSUMER_GROUP_MEMBER,
    CONNECTION.name: CONNECTION,
    DELIVERY.name: DELIVERY,
    MICRO_BATCH_READER.name: MICRO_BATCH_READER,
}
"""Every machine that there is, those of the Spark sink among them: what is drawn and listed."""
