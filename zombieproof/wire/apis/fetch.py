"""Fetch (1), versions 4 to 18: records of partitions, as they were stored.

No fetch sessions are kept: whoever asks for one gets none, as from a Kafka that has no room for more (KIP-227), and
whoever goes on in one is told that it does not exist. From version 9 on a client says which leader it means, from 12
on what it has read last: it is told where its log and this one part (KIP-320, KIP-595). From 13 on topics have ids,
from 16 on whoever asked the wrong broker is told who leads (KIP-951). Batches are whole: what Kafka cuts off where
there is no room for more is left out, which a client passes over anyway. Followers of a cluster of ours do not fetch:
who says that he is a replica reads as a consumer does. Source: reference §6; ``FetchRequest.java``,
``FetchSession.java``.
"""

from typing import Any

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.encoding import read_batches
from zombieproof.messages.partitions import Fetch, FetchAnswer, Fetched
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.wire.api import Around, Values, api_of_messages
from zombieproof.wire.leaders import endpoints, leader_of
from zombieproof.wire.mapping import message_of, values_of
from zombieproof.wire.names import Names
from zombieproof.wire.responses import Records

NO_SESSION = 0
NEW_SESSION = 0
"""The epoch of whoever wants a session; one that wants none, or gives up the one that it has, says less."""
ENDPOINTS_SINCE = 16
"""From here on whoever asked the wrong broker is told who leads (KIP-951)."""


REFUSED = {
    "high_watermark": NONE,
    "last_stable_offset": NONE,
    "log_start_offset": NONE,
    "aborted_transactions": (),
    "preferred_read_replica": NONE,
    "records": b"",
}


def to_messages(entity: Any, version: int, names: Names) -> tuple[Request, ...]:
    """One message, or none for a session that does not exist; who wants a new one, or none, names everything."""
    if getattr(entity, "session_epoch", NEW_SESSION) > NEW_SESSION:
        return ()
    return (message_of(Fetch, entity, version, names),)


def to_values(entity: Any, answers: tuple[Answer, ...], version: int, around: Around) -> Values:
    """Each partition with its batches, whose bytes follow each other."""
    if not answers or not isinstance(answers[0], FetchAnswer):
        return {"error_code": int(Error.FETCH_SESSION_ID_NOT_FOUND), "session_id": NO_SESSION, "responses": ()}
    by_topic: dict[str, list[Values]] = {}
    moved = []
    for partition, fetched in answers[0].partitions.items():
        led = leader_of(partition, fetched.error, around) if version >= ENDPOINTS_SINCE else {}
        moved += [led["current_leader"]["leader_id"]] if led else []
        by_topic.setdefault(partition[0], []).append({**led, **_row(partition[1], fetched, version, around)})
    rows = [{**around.names.topic(topic), "partitions": each} for topic, each in by_topic.items()]
    more = {"node_endpoints": endpoints(moved, around)}
    return {"error_code": 0, "session_id": NO_SESSION, "responses": rows, **more}


def _row(number: int, fetched: Fetched, version: int, around: Around) -> Values:
    return {
        **values_of(fetched, version, around.names),
        "partition_index": number,
        "records": Records(fetched.batches),
        "preferred_read_replica": -1,
    }


def refused(entity: Any, error: int) -> Values:
    """The error of the whole response, and of each partition where topics have names: old clients look there."""
    rows = [
        {
            "topic": topic.topic,
            "partitions": [
                {**REFUSED, "partition_index": each.partition, "error_code": error} for each in topic.partitions
            ],
        }
        for topic in entity.topics
        if hasattr(topic, "topic")
    ]
    return {"error_code": error, "session_id": getattr(entity, "session_id", NO_SESSION), "responses": rows}


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
    refused=refused,
)
