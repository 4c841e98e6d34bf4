"""Compare the positions under a group with the query that starts, so that none is taken for another's.

The brokers are asked here, before a micro-batch runs. Each delivery compares again, in the sink.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from zombieproof.model.vocabulary import NONE
from zombieproof.pipeline.kafka import LOGGER, client, consumer_for
from zombieproof.pipeline.progress_topic import NOWHERE, Committed, Keyed, Progress, unsigned
from zombieproof.pipeline.reader import BrokersUnavailable, RefusedByBrokers, Retries, answered, named
from zombieproof.pipeline.sink.asking import RowsNotAcknowledged
from zombieproof.pipeline.sink.claims import partition_id
from zombieproof.pipeline.sink.errors import NEEDS_A_GROUP, REMADE
from zombieproof.pipeline.sink.restoring import copy_positions, positions_of
from zombieproof.pipeline.sink.rows import Identity, NoIdentity, Place, foreign, identity_of_any
from zombieproof.pipeline.spark.analyzed import STREAM
from zombieproof.pipeline.spark.checkpoints import Beginning, Checkpoint
from zombieproof.pipeline.spark.options import EARLIEST, By, IllegalOption, Mode, SinkOptions
from zombieproof.pipeline.spark.plans import Node
from zombieproof.pipeline.topic_pattern import matching_topics

WITHIN_S: Final = 5.0
"""Time that brokers have to answer before a query starts without that check."""
READ_AGAIN: Final = (
    "remove the new checkpoint, and give the source alone another kafka.group.id, one without positions, and "
    "startingOffsets=earliest: each exactly_once leaves out the rows that it has written"
)


class Position(NamedTuple):
    """A position, and whose write has committed it."""

    offset: int
    identity: Identity


class TakenGroup(ValueError):
    """A group under which another write has committed positions, or this one in a topic that no longer exists."""


def cluster_of(consumer: Any) -> str:
    """Return the id of the cluster that a client is connected to."""
    return str(consumer.list_topics(None, WITHIN_S).cluster_id)


def ids_in_other_clusters(options: SinkOptions, plan: Node) -> dict[str, str]:
    """The ids of topics that are read in another cluster than the sink's, which does not know them."""
    address: Any = options.settings.get("bootstrap.servers")
    found: dict[str, str] = {}
    for leaf in plan.leaves():
        source = leaf.source
        if source is None or source.settings.get("bootstrap.servers") == address:
            continue
        reading, writing = (consumer_for(each, options.group) for each in (source.settings, options.settings))
        try:
            if cluster_of(reading) == cluster_of(writing):
                continue
            progress = Progress(source.settings, options.group, source.progress_topic)
            progress.ask(_topics_of(leaf, reading))
            found |= {foreign(topic): each for topic, each in progress.ids().items() if topic != progress.topic}
        except client.KafkaException as error:
            LOGGER.info("start of a query: the ids of the topics of its source are not known: %s", error)
        finally:
            reading.close()
            writing.close()
    return found


def refuse_other_clusters(options: SinkOptions, query: str, plan: Node) -> None:
    """Check that a sink can keep its positions in another cluster than the source's, and that no record is skipped.

    A source does not look for positions in the cluster of the sink. Without a checkpoint it has to begin at the first
    record: then the sink leaves out those that it has written.

    Raises:
        IllegalOption: the cluster of the sink cannot keep the positions.
        TakenGroup: it has some, and the source would not begin at the first record.
    """
    address = options.settings.get("bootstrap.servers")
    for leaf in plan.leaves():
        source = leaf.source
        if source is None or leaf.kind != STREAM or source.settings.get("bootstrap.servers") == address:
            continue
        reading, writing = (consumer_for(each, options.group) for each in (source.settings, options.settings))
        try:
            if cluster_of(reading) == cluster_of(writing):
                continue
            places = _places_of(reading, _topics_of(leaf, reading))
            there = set(_places_of(writing, {topic for topic, _ in places}))
            progress = Progress(options.settings, options.group, options.progress_topic)
            progress.ask(())
            found = _identities(writing, [place for place in places if place in there], progress, progress.ids())
        except client.KafkaException as error:
            LOGGER.info("start of a query: the clusters of source and sink were not compared: %s", error)
            continue
        finally:
            reading.close()
            writing.close()
        if missing := [f"{topic}-{partition}" for topic, partition in places if (topic, partition) not in there]:
            raise IllegalOption(
                f"sink: it commits the positions of {', '.join(missing)}, and its cluster has no such partitions. A "
                "cluster keeps positions of its own topics alone: create a topic of the same name and as many "
                "partitions there, which may stay empty; or use exactlyOnceBy=batch"
            )
        if query or (source.starting.value == EARLIEST and not source.starting.is_timestamp):
            continue
        for place, (_, identity) in found.items():
            raise TakenGroup(
                f"source: {source.starting.option} says where this query begins, because it has no checkpoint and its "
                f"source is in another cluster than its sink. But {identity} has committed the position of {place[0]}-"
                f"{place[1]} under group {options.group} in the cluster of the sink, and records between the two might "
                "be skipped. Bring back the checkpoint; or set startingOffsets=earliest, and the sink leaves out the "
                "rows that it has written; or use a new group"
            )


def look_at_sources(plan: Node, *, is_refused: bool) -> None:
    """Look whether sources begin after positions that a sink of this project has committed, in a new query.

    Raises:
        TakenGroup: one does, and that `is_refused` because the positions cannot be those of this query. Otherwise they
            may be, if it calls `exactly_once` and its checkpoint is lost; then a warning is logged.
    """
    for leaf in plan.leaves():
        if leaf.source is None or leaf.kind != STREAM:
            continue
        consumer = consumer_for(leaf.source.settings, leaf.source.group)
        try:
            topics = _topics_of(leaf, consumer)
            progress = Progress(leaf.source.settings, leaf.source.group, leaf.source.progress_topic)
            progress.ask(topics)
            found = _identities(consumer, _places_of(consumer, topics), progress, progress.ids())
        except (client.KafkaException, NoIdentity) as error:
            LOGGER.info("start of a query: the positions of group %s were not checked: %s", leaf.source.group, error)
            continue
        finally:
            consumer.close()
        for place, (_, identity) in found.items():
            if not identity.query:
                continue
            fault = (
                f"source: the position of {place[0]}-{place[1]} under group {leaf.source.group} was committed by "
                f"{identity}, and this query has no checkpoint: it would begin there, and never read what is below"
            )
            if is_refused:
                raise TakenGroup(f"{fault}. {NEEDS_A_GROUP}")
            LOGGER.warning(
                "%s. Nothing is wrong if that is this query, and its checkpoint is lost. Otherwise stop it, and give "
                "it a group of its own, or reprocess=NAME for its source and for each exactly_once",
                fault,
            )
            break


def check_positions(
    options: SinkOptions, name: str, checkpoint: Checkpoint, plan: Node, source_ids: Mapping[str, str]
) -> None:
    """Check that the positions of the group are of this write: a source would begin after those of another.

    The progress topic gets those that it lacks.

    A query without a checkpoint may continue at the positions of a sink of the same name. If the brokers do not answer,
    the query starts without this check: each delivery checks again.

    The progress topic is created for a new query. For one with a checkpoint the deliveries decide: if it is missing and
    the group has no positions, both were deleted.

    Raises:
        TakenGroup: they are of another write, or older than a topic.
        ProgressUnusable: the progress topic does not keep its records, or cannot be created.
    """
    progress = Progress(options.settings, options.group, options.progress_topic)
    try:
        found, topic_ids = _found(options, plan, progress), progress.ids()
        if progress.topic not in topic_ids and not checkpoint.query:
            progress.create()
    except client.KafkaException as error:
        LOGGER.info("start of sink %s: the positions of group %s were not checked: %s", name, options.group, error)
        return
    _refuse_older_checkpoint(options, name, checkpoint, found)
    for place, (_, identity) in found.items():
        is_same_sink = options.by == By.SOURCE and identity.sink == name and not identity.is_of_a_batch_query
        if identity.query not in ("", checkpoint.query) and not is_same_sink:
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} was committed by {identity}, "
                f"and this is query {checkpoint.query or 'without a checkpoint'}, sink {name}. {NEEDS_A_GROUP}"
            )
        if remade := identity.remade(topic_ids | dict(source_ids)):
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} is older than topic "
                f"{remade}. {REMADE}"
            )
    restore_progress(options)


def check_before_first_write(
    options: SinkOptions, name: str, checkpoint: Checkpoint, plan: Node, begun: Beginning, before: Collection[str]
) -> None:
    """Check the positions of a group before a function of `foreachBatch` writes in it for the first time.

    `begun` says where the sources began without a checkpoint; `before` has the groups of the writes before this one.

    Raises:
        IllegalOption: the cluster of the sink cannot keep the positions.
        TakenGroup: the checkpoint is older, or the query has skipped records.
        BrokersUnavailable: no broker tells.
    """
    refuse_other_clusters(options, checkpoint.query, plan)
    progress = Progress(options.settings, options.group, options.progress_topic)
    found = answered(lambda: _found(options, plan, progress), f"the positions of group {options.group}")
    _refuse_older_checkpoint(options, name, checkpoint, found)
    _refuse_skipped(options, begun, found, before)
    restore_progress(options)


def _refuse_skipped(
    options: SinkOptions, begun: Beginning, found: Mapping[Place, Position], before: Collection[str]
) -> None:
    """Check that a query whose checkpoint was lost did not begin after records that this write lacks.

    A write without a position lacks none if it comes before the one at whose positions the source began: that one
    wrote later in each micro-batch.

    Raises:
        TakenGroup: it did.
    """
    for place, (offset, identity) in found.items():
        if identity.query != options.query and offset < begun.offsets.get(place, NONE):
            raise TakenGroup(
                f"exactly_once: {READ_AGAIN}. This query began at offset {begun.offsets[place]} of {place[0]}-"
                f"{place[1]}, without a checkpoint, and {identity} had committed position {offset} under group "
                f"{options.group}: records between the two would be missing. Or bring back the lost checkpoint; or, if "
                "none are missing, use a new group for this write"
            )
    for place, group in begun.continued.items():
        if place not in found and group != options.group and group in before:
            raise TakenGroup(
                f"exactly_once: {READ_AGAIN}. This query began without a checkpoint, at offset {begun.offsets[place]} "
                f"of {place[0]}-{place[1]}, a position of group {group}. That is the group of an earlier write of the "
                f"function, after which a driver may have died, and group {options.group} of this write has no "
                "position: records below might be missing. Or bring back the lost checkpoint; or call the write of "
                f"group {group} last, if no record is missing"
            )


def refuse_other_progress(options: SinkOptions, checkpoint: Checkpoint) -> None:
    """Check that a batch that is repeated has no position in the progress topic alone with which it was planned.

    Raises:
        TakenGroup: it has one.
        BrokersUnavailable: no broker tells.
    """
    earlier = {topic: each for topic, each in checkpoint.progress_ids.items() if topic != options.progress_topic}
    if checkpoint.is_finished or not earlier:
        return

    def ask() -> tuple[str, Place] | None:
        held = positions_of(options.settings, options.group)
        for topic, topic_id in earlier.items():
            new, old = (Progress(options.settings, options.group, each) for each in (options.progress_topic, topic))
            new.ask(())
            old.ask(())
            if old.ids().get(topic) != topic_id:
                continue
            kept = old.of_all_groups(lambda each: _is_lost(options.group, each, held))
            there = new.newest([each.place for each in kept]) if kept and new.topic in new.ids() else {}
            for each in kept:
                if there.get(each.place, NOWHERE).offset < each.committed.offset:
                    return topic, each.place
        return None

    if found := answered(ask, f"the records of topics {', '.join(sorted(earlier))}"):
        topic, place = found
        raise TakenGroup(
            f"sink: set progressTopic={topic} for source and sink until batch {checkpoint.newest} of the checkpoint is "
            f"finished, and change it then. It is {options.progress_topic} now, and the position of {place[0]}-"
            f"{place[1]} is in {topic} alone, or an older one in {options.progress_topic}, because group "
            f"{options.group} has lost it: rows of the batch, which is repeated, may be in the output, and would be "
            "written again"
        )


def _is_lost(group: str, each: Keyed, held: Mapping[Place, Committed]) -> bool:
    """Whether a record is a position of this group that the group itself no longer has."""
    is_position = identity_of_any(each.committed.metadata, each.place) is not None
    return each.group == group and is_position and each.place not in held


def _refuse_older_checkpoint(
    options: SinkOptions, name: str, checkpoint: Checkpoint, found: Mapping[Place, Position]
) -> None:
    """Check that the checkpoint has finished every batch that the query has written with another plan.

    With the same plan an older copy is exact, because positions tell which rows are written. With another one a batch
    is compared by its number, and later batches without rows would pass over the numbers that the copy lacks.

    Raises:
        TakenGroup: it lacks one.
    """
    newest = NONE if checkpoint.newest is None else checkpoint.newest
    finished = newest if checkpoint.is_finished else newest - 1
    for place, (_, identity) in found.items():
        if identity.query == checkpoint.query != "" and identity.sink != name and identity.batch > finished:
            raise TakenGroup(
                f"sink: the position of {place[0]}-{place[1]} under group {options.group} was committed by {identity}, "
                f"and this is sink {name} with a checkpoint that has finished {max(0, finished + 1)} batches (their "
                f"numbers begin with 0). {NEEDS_A_GROUP}"
            )


def refuse_written_elsewhere(
    options: SinkOptions, name: str, checkpoint: Checkpoint, plan: Node, *, streaming: bool
) -> None:
    """Check that a batch that is repeated was not written under another group, and, by batch, into another topic.

    Raises:
        IllegalOption: it was.
        BrokersUnavailable: no broker tells.
    """
    newest = NONE if checkpoint.newest is None else checkpoint.newest
    is_repeated = not checkpoint.is_finished and options.batch in (NONE, newest)
    has_one_output = streaming and options.by == By.BATCH
    if not checkpoint.query or not (is_repeated or has_one_output):
        return
    progress = Progress(options.settings, options.group, options.progress_topic)

    def of_this_query(each: Keyed) -> Identity | None:
        identity = identity_of_any(each.committed.metadata, each.place)
        return identity if identity is not None and identity.query == checkpoint.query else None

    def ask() -> list[Keyed]:
        progress.ask(())
        is_there = progress.topic in progress.ids()
        return progress.of_all_groups(lambda each: of_this_query(each) is not None) if is_there else []

    left = checkpoint.groups - {leaf.source.group for leaf in plan.leaves() if leaf.source is not None}
    groups = set()
    for each in answered(ask, f"the records of topic {options.progress_topic}"):
        identity, group, place = of_this_query(each), each.group, each.place
        if identity is None:
            continue
        is_of_this_write = streaming or identity.sink == name or group in left
        if is_repeated and is_of_this_write and identity.batch >= newest:
            groups.add(group)
        if has_one_output and identity.rows and group == options.group and place[0] != options.topic:
            raise IllegalOption(
                f"sink: topic is {options.topic}, and batch {identity.batch} of this query was written to {place[0]} "
                f"under group {group}. Write to {place[0]}; or give the other output a query, a checkpoint and a group "
                "of its own"
            )
    if groups and options.group not in groups:
        old = ", ".join(sorted(groups))
        raise IllegalOption(
            f"sink: kafka.group.id is {options.group}, and batch {newest}, which is repeated, was written "
            f"under {old}: its rows would be written again. Use {old} until the batch is finished, and change the "
            "group then"
        )


def restore_progress(options: SinkOptions) -> None:
    """See that the progress topic has the positions of the group: it was deleted, is another one, or is used again."""
    own_id, has_tasks = options.transactional_id, options.mode == Mode.PARTITION
    progress = Progress(options.settings, options.group, options.progress_topic)

    def ask() -> list[Place]:
        return copy_positions(
            options.settings,
            options.group,
            progress,
            lambda place: partition_id(own_id, place) if has_tasks else own_id,
        )

    try:
        copied = answered(ask, f"topic {progress.topic}", Retries(count=0, attempt_s=WITHIN_S))
    except (BrokersUnavailable, RefusedByBrokers, RowsNotAcknowledged) as error:
        LOGGER.warning("sink: topic %s may lack positions of group %s: %s", progress.topic, options.group, error)
    else:
        if copied:
            LOGGER.warning(
                "sink: topic %s lacked the newest positions of %s under group %s, and has them now",
                progress.topic,
                named(copied),
                options.group,
            )


def make_progress_topic(options: SinkOptions) -> None:
    """Create the progress topic for a new query, whose first batches may have no rows.

    Raises:
        ProgressUnusable: it cannot be created.
    """
    progress = Progress(options.settings, options.group, options.progress_topic)
    try:
        progress.ask(())
        if progress.topic not in progress.ids():
            progress.create()
    except client.KafkaException as error:
        LOGGER.info("start of a query: topic %s was not created, which a delivery will do: %s", progress.topic, error)


def _found(options: SinkOptions, plan: Node, progress: Progress) -> dict[Place, Position]:
    """Whose writes have committed the positions that a write of this plan commits.

    Raises:
        KafkaException: the brokers do not answer.
        NoIdentity: a position holds metadata of another client.
        ProgressUnusable: the progress topic does not keep its records.
    """
    consumer = consumer_for(options.settings, options.group)
    try:
        topics = {options.topic}
        if options.by == By.SOURCE:
            topics = {topic for leaf in plan.leaves() for topic in _topics_of(leaf, consumer)}
        progress.ask({*topics, options.topic})
        return _identities(consumer, _places_of(consumer, topics), progress, progress.ids())
    finally:
        consumer.close()


def _topics_of(leaf: Node, consumer: Any) -> set[str]:
    """The topics that a leaf reads now, as far as its options tell."""
    if leaf.topics is None and leaf.source is not None and leaf.source.pattern:
        return set(matching_topics(leaf.source.pattern, consumer.list_topics(None, WITHIN_S).topics))
    return set(leaf.topics or ())


def _places_of(consumer: Any, topics: set[str]) -> list[Place]:
    return [
        (topic, partition)
        for topic in sorted(topics)
        for partition in consumer.list_topics(topic, WITHIN_S).topics[topic].partitions
    ]


def _identities(
    consumer: Any, places: list[Place], progress: Progress, topic_ids: Mapping[str, str]
) -> dict[Place, Position]:
    """The positions of these partitions that writes of this project have committed."""
    asked = [client.TopicPartition(*place) for place in places]
    committed = {}
    for told in consumer.committed(asked, WITHIN_S) if asked else ():
        if told.error is not None:
            raise client.KafkaException(told.error)
        committed[told.topic, told.partition] = Committed(max(told.offset, NONE), told.metadata or "")
    if progress.topic in topic_ids:
        progress.check(topic_ids[progress.topic])
        committed |= progress.newest(unsigned(committed))
    read = {place: (offset, Identity.of_metadata(text, place)) for place, (offset, text) in committed.items()}
    return {place: Position(offset, identity) for place, (offset, identity) in read.items() if identity is not None}
