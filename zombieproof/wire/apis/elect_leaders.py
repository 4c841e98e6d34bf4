"""ElectLeaders (43), versions 0 to 2: the preferred replica leads again.

From version 1 on an unclean election may be asked for: whoever is out of sync leads nothing here, so that it finds
nobody (83) where it is needed. Source: ``ReplicationControlManager.electLeaders``; KIP-183, KIP-460.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer
from zombieproof.messages.admin import LeadersElected
from zombieproof.model.vocabulary import ApiKey
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import values_of


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """The partitions, and where all were meant every topic, also one of which nothing is to be told."""
    assert isinstance(answers[0], LeadersElected)
    values = values_of(answers[0], version, around.names)
    if entity.topic_partitions is None and answers[0].error == 0:
        told = {row["topic"] for row in values["replica_election_results"]}
        rest = [each for each in around.metadata.topic_ids if each not in told]
        values["replica_election_results"] += [{"topic": topic, "partition_result": ()} for topic in rest]
    return values


ELECT_LEADERS = api_of_messages(ApiKey.ELECT_LEADERS, to_values=to_values)
