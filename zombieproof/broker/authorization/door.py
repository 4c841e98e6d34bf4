"""The door of a broker that asks for rights: what of a request goes on, what is refused, and what an answer may tell.

Theory of operation: `judge` looks up what the step wants to know and asks it: the answer is there at once where
everything is refused, else the request goes on with what is left of it, and the `Visit` waits at the desk until it is
answered (`Visit.complete`): what was refused gets its rows then, and what whoever asks may not know of is left out.
Other parts of the broker ask the same visit where a right decides within their own order (`Visit.may`).
Source: reference §14.1; ``KafkaApis.scala``.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from zombieproof.broker.authorization.access_list import AccessList
from zombieproof.broker.authorization.principals import Principal
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.formats.topics import is_legal_topic
from zombieproof.messages.group_descriptions import (
    ConsumerGroupDescription,
    ConsumerGroupsDescribed,
    GroupsDescribed,
    GroupsListed,
)
from zombieproof.messages.groups import ConsumerGroupHeartbeat, FindCoordinator, OffsetFetch, OffsetFetchAnswer
from zombieproof.messages.partitions import (
    ConnectionClosed,
    DescribeProducers,
    DescribeTopics,
    Produce,
    ProduceAnswer,
    TopicsDescribed,
)
from zombieproof.messages.refusals import LISTS, ROWS, refusal
from zombieproof.messages.registry import api_of, values_of
from zombieproof.messages.schema import Entity
from zombieproof.messages.transactions import (
    DescribeTransactions,
    DescribeTransactionsAnswer,
    InitProducerId,
    ListTransactionsAnswer,
    TransactionDescription,
)
from zombieproof.model.access import CLUSTER_NAME, AclOperation, Asked, ResourceType, Rights
from zombieproof.model.vocabulary import NONE, ApiKey, Error
from zombieproof.statemachines import authorizing

HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."

Key = TypeVar("Key")
Row = TypeVar("Row")


@dataclass(slots=True)
class Visit:
    """A request of somebody at the door: `left` is what goes on, `refused` has the error of each row that does not."""

    access: AccessList
    who: Principal
    request: Request
    left: Request
    answer: Answer | ConnectionClosed | None = None
    refused: dict[Any, int] = field(default_factory=dict)

    def may(self, operation: AclOperation, resource: ResourceType, name: str) -> bool:
        """Whether who asks may do something to a resource."""
        return self.access.may(self.who, operation, resource, name)

    def told(self, resource: ResourceType, name: str) -> bool:
        """Whether who asks may be told of what he did not name."""
        operation = authorizing.operation_on_told(self.api, resource)
        return operation == NONE or self.may(AclOperation(operation), resource, name)

    @property
    def api(self) -> ApiKey:
        """The key of the request."""
        return api_of(type(self.request)).key

    def complete(self, answer: Answer | ConnectionClosed | None) -> Answer | ConnectionClosed | None:
        """What is answered, when `left` is answered with `answer`."""
        match answer:
            case DescribeTransactionsAnswer() | GroupsDescribed() | ConsumerGroupsDescribed():
                return self._listed(answer)
            case GroupsListed(groups=groups) if not self.may(AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
                return replace(answer, groups=tuple(row for row in groups if self.told(ResourceType.GROUP, row.group)))
            case ListTransactionsAnswer(transactions=transactions):
                ids = ResourceType.TRANSACTIONAL_ID
                return replace(
                    answer, transactions=tuple(row for row in transactions if self.told(ids, row.transactional_id))
                )
            case OffsetFetchAnswer(partitions=partitions) if isinstance(self.request, OffsetFetch):
                if self.request.partitions is None:
                    return OffsetFetchAnswer(answer.error, self._told_of(partitions, lambda partition: partition[0]))
            case TopicsDescribed(topics=topics) if isinstance(self.request, DescribeTopics):
                if self.request.topics is None:
                    return TopicsDescribed(self._told_of(topics, lambda topic: topic))
        if not self.refused or isinstance(answer, ConnectionClosed):
            return answer
        if answer is None:
            return ConnectionClosed() if isinstance(self.request, Produce) else None
        return self._merged(answer)

    def _told_of(self, rows: Mapping[Key, Row], topic: Callable[[Key], str]) -> dict[Key, Row]:
        """The rows of topics that whoever asks may know of."""
        return {key: row for key, row in rows.items() if self.told(ResourceType.TOPIC, topic(key))}

    def _merged(self, answer: Answer) -> Answer:
        """The rows of `answer` and of what was refused, in the order in which they were asked for."""
        rows = ROWS[type(self.request)]
        if rows.error and getattr(answer, rows.error) != Error.NONE:
            return answer
        told: dict[Any, deque[Any]] = {}
        for key, row in rows.rows_of(answer):
            told.setdefault(key, deque()).append(row)
        merged: Answer = rows.answered(
            (key, rows.row(key, self.refused[key]) if key in self.refused else _next(told[key]))
            for key in rows.keys(self.request)
        )
        return merged

    def _listed(self, answer: Answer) -> Answer:
        """The rows of `answer` and of what was refused, in the order in which they were asked for."""
        of = LISTS[type(self.request)]
        decided = iter(getattr(answer, of.told))
        rows = (
            of.row(name, self.refused[name]) if name in self.refused else self._shown(next(decided))
            for name in of.keys(self.request)
        )
        listed: Answer = of.answered(rows)
        return listed

    def _shown(self, row: Any) -> Any:
        """A row without what whoever asks may not know of."""
        if isinstance(row, ConsumerGroupDescription):
            topics = {topic for each in row.members for topic, _ in (*each.assignment, *each.target)}
            error = authorizing.row_of_topics(all(self.told(ResourceType.TOPIC, topic) for topic in topics))
            return ConsumerGroupDescription(row.group, error, HIDDEN_TOPICS) if error else row
        if not isinstance(row, TransactionDescription):
            return row
        return replace(row, partitions=frozenset(tp for tp in row.partitions if self.told(ResourceType.TOPIC, tp[0])))


@dataclass(slots=True)
class Door:
    """The door of one broker. Without an access list it is open, and costs nothing."""

    access: AccessList
    journal: Journal
    topic_exists: Callable[[str], bool]

    def judge(self, request: Request, who: Principal) -> Visit:
        """Somebody asks for something."""
        visit = Visit(self.access, who, request, request)
        error = authorizing.enters(_asked(request), self._rights(visit), self.journal.begin())
        self.journal.take(str(who))
        if error != Error.NONE:
            visit.answer = _closing(request, refusal(request, error))
            return visit
        for resource in authorizing.ROWS:
            self._judge_rows(visit, resource)
        return visit

    def _rights(self, visit: Visit) -> Rights:
        """What the step may want to know; asking is looking up."""
        cluster = {
            operation: visit.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)
            for operation in (
                AclOperation.IDEMPOTENT_WRITE,
                AclOperation.CLUSTER_ACTION,
                AclOperation.ALTER,
                AclOperation.DESCRIBE,
            )
        }
        request, rights = visit.request, Rights()
        rights.idempotent_write = cluster[AclOperation.IDEMPOTENT_WRITE]
        rights.cluster_action = cluster[AclOperation.CLUSTER_ACTION]
        rights.alter_cluster = cluster[AclOperation.ALTER]
        rights.describe_cluster = cluster[AclOperation.DESCRIBE]
        for name in _ids(request):
            rights.write_id = visit.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, name)
            rights.describe_id = visit.may(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, name)
            rights.commit_id_in_two_phases = visit.may(
                AclOperation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, name
            )
        for name in _groups(request):
            rights.read_group = visit.may(AclOperation.READ, ResourceType.GROUP, name)
            rights.describe_group = visit.may(AclOperation.DESCRIBE, ResourceType.GROUP, name)
            rights.delete_group = visit.may(AclOperation.DELETE, ResourceType.GROUP, name)
        if isinstance(request, InitProducerId):
            rights.write_some_topic = self.access.may_some(visit.who, AclOperation.WRITE, ResourceType.TOPIC)
        topics = (request.topics or ()) if isinstance(request, ConsumerGroupHeartbeat) else ()
        rights.describe_topics = all(visit.may(AclOperation.DESCRIBE, ResourceType.TOPIC, each) for each in topics)
        return rights

    def _judge_rows(self, visit: Visit, resource: ResourceType) -> None:
        """Take out of the request what has no right to a row of its own."""
        number = authorizing.operation_on_rows(visit.api, resource)
        if number == NONE:
            return
        operation = AclOperation(number)
        keys = _keys(visit.request)
        for key in keys:
            name = key if isinstance(key, str) else key[0]
            if not self._is_asked(visit.request, name):
                continue
            error = authorizing.row_enters(resource, visit.may(operation, resource, name), self.journal.begin())
            self.journal.take(f"{visit.who} {name}")
            if error != Error.NONE:
                visit.refused[key] = error
        if visit.refused:
            self._take_out(visit, keys)

    def _is_asked(self, request: Request, name: str) -> bool:
        """Whether a right is asked for: an id of no topic has no name, and DescribeProducers looks at names first."""
        if isinstance(request, DescribeProducers):
            return is_legal_topic(name)
        if isinstance(request, DescribeTopics) and request.by_id:
            return self.topic_exists(name)
        return name not in getattr(request, "unknown_topic_ids", ())

    def _take_out(self, visit: Visit, keys: Iterable[Any]) -> None:
        left = [key for key in keys if key not in visit.refused]
        listed = LISTS.get(type(visit.request))
        if listed is not None:
            named: Any = visit.request
            visit.left = replace(named, **{listed.asked: tuple(left)})
            return
        rows = ROWS[type(visit.request)]
        visit.left = rows.of(visit.request, left)
        if not left and not rows.error:
            told = ((key, rows.row(key, visit.refused[key])) for key in keys)
            visit.answer = _closing(visit.request, rows.answered(told))


def _next(rows: deque[Any]) -> Any:
    """The next row about something; what has one row has it however often it was asked for."""
    return rows.popleft() if len(rows) > 1 else rows[0]


def _asked(request: Request) -> Asked:
    """What the step wants to know of a request."""
    return Asked(
        api_of(type(request)).key,
        request.version,
        isinstance(request, InitProducerId) and request.transactional_id is not None,
        isinstance(request, Produce) and _is_transactional(request),
        isinstance(request, InitProducerId) and request.enable_2pc,
        request.key_type if isinstance(request, FindCoordinator) else NONE,
    )


def _is_transactional(request: Produce) -> bool:
    return any(sent.batch.transactional for batches in request.partitions.values() for sent in batches)


def _ids(request: Request) -> Iterable[str]:
    """The transactional id that the request as a whole is about; a key may be one."""
    if isinstance(request, FindCoordinator):
        return (request.key,)
    return () if isinstance(request, DescribeTransactions) else values_of(request, Entity.TRANSACTIONAL_ID)


def _groups(request: Request) -> Iterable[str]:
    return (request.key,) if isinstance(request, FindCoordinator) else values_of(request, Entity.GROUP)


def _keys(request: Request) -> list[Any]:
    """What has rows of its own."""
    listed = LISTS.get(type(request))
    return ROWS[type(request)].keys(request) if listed is None else list(listed.keys(request))


def _closing(request: Request, answer: Answer) -> Answer | ConnectionClosed:
    """A Produce that wants no answer is told of an error by the end of its connection."""
    if isinstance(answer, ProduceAnswer) and isinstance(request, Produce) and request.acks == 0:
        return ConnectionClosed()
    return answer
