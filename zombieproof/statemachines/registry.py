"""All machines of the protocol, by name."""

from collections.abc import Mapping

from zombieproof.statemachines.consumer import CONSUMER
from zombieproof.statemachines.coordinator import COORDINATOR
from zombieproof.statemachines.group_coordinator import GROUP_COORDINATOR
from zombieproof.statemachines.kernel import Machine
from zombieproof.statemachines.partition_leader import PARTITION_LEADER
from zombieproof.statemachines.producer import PRODUCER

MACHINES: Mapping[str, Machine] = {
    machine.name: machine for machine in (COORDINATOR, PRODUCER, PARTITION_LEADER, GROUP_COORDINATOR, CONSUMER)
}
