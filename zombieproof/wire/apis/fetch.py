"""Fetch (1), versions 4 to 18: records of partitions, as they were stored.

No fetch sessions are kept: whoever asks for one gets none, as from a Kafka that has no room for more (KIP-227), and
whoever names one is told that it does not exist. From version 13 on topics have ids. Source: reference §6.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.encoding import read_batches, write_batch
from zombieproof.messages.partitions import Fetch, FetchAnswer, Fetched
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names

NO_SESSION = 0
BY_ID_SINCE = 13


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message, or none for a session that does not exist."""
    if getattr(entity, "session_id", NO_SESSION) != NO_SESSION:
        return ()
    return (message_of(Fetch, entity, version, names),)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """Each partition with its batches, whose bytes follow each other."""
    if not answers or not isinstance(answers[0], FetchAnswer):
        return {"error_code": int(Error.FETCH_SESSION_ID_NOT_FOUND), "session_id": NO_SESSION, "responses": ()}
    by_topic: dict[str, list[Values]] = {}
    for (topic, number), fetched in answers[0].partitions.items():
        by_topic.setdefault(topic, []).append(_row(number, fetched, version, around))
    rows = [{**around.names.topic(topic), "partitions": each} for topic, each in by_topic.items()]
    return {"error_code": 0, "session_id": NO_SESSION, "responses": rows}


def _row(number: int, fetched: Fetched, version: int, around: Around) -> Values:
    return {
        **values_of(fetched, version, around.names),
        "partition_index": number,
        "records": b"".join(map(write_batch, fetched.batches)),
        "preferred_read_replica": -1,
    }


def written(request: Fetch, names: Names) -> Values:
    """Whoever asks here keeps no session, and is no replica."""
    more = {"replica_id": NONE, "session_id": NO_SESSION, "session_epoch": NONE, "forgotten_topics_data": ()}
    return {**values_of(request, request.version, names), **more}


def told(entity: Any, request: Fetch, names: Names) -> FetchAnswer:
    """The batches of each partition, from their bytes."""
    rows = {}
    for topic in entity.responses:
        name = names.topic_of(topic)
        for row in topic.partitions:
            batches = tuple(read_batches(row.records or b""))
            rows[name, int(row.partition_index)] = message_of(Fetched, row, request.version, names, batches=batches)
    return FetchAnswer(rows)


FETCH = api_of_messages(
    ApiKey.FETCH,
    to_messages=to_messages,
    to_values=to_values,
    written=written,
    told=told,
)
