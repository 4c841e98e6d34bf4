"""A group of the consumer protocol (KIP-848): the table of a member, and the steps of both."""

from zombieproof.statemachines.consumer_group.table import CONSUMER_GROUP as CONSUMER_GROUP
