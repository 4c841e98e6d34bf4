"""A group of the consumer protocol (KIP-848): the table of a member, and the steps of both."""

from zombieproof.statemachines.consumer_group_member.table import CONSUMER_GROUP_MEMBER as CONSUMER_GROUP_MEMBER
