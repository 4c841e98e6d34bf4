"""Gaps in the evidence: what it names itself and what was not given, or cannot be read.

That is a partition that a transaction lists, the coordinator's records of a producer that wrote transactions, the rest
of a log that is cut.
Source: reference §2.12 (a transaction has a marker on each partition that it lists), §3.4.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from zombieproof.formats.topics import CONSUMER_OFFSETS, TRANSACTION_STATE, TopicPartition
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import ClientFact, Evidence, HoleInCopy, Holes, PartitionLog, Phase, Source
from zombieproof.traces.judging.folded import Folded, Outside
from zombieproof.traces.judging.gathering.coordinator_partitions import home_of, number_of_partitions
from zombieproof.traces.judging.histories.client_history import ApplicationTransaction
from zombieproof.traces.judging.histories.coordinator_history import IdHistory
from zombieproof.traces.judging.histories.partition_history import PartitionHistory
from zombieproof.traces.judging.histories.recorded_transactions import RecordedTransaction
from zombieproof.traces.judging.histories.words import identity, span
from zombieproof.traces.log_life import began
from zombieproof.traces.readers.dump_body import DECODERS, NOT_DECODED
from zombieproof.traces.readers.dump_content import UNSHOWN, WITHOUT_METADATA, WITHOUT_RECORDS
from zombieproof.traces.readers.dump_name import partition_named_by
from zombieproof.traces.readers.files import UNKNOWN_PARTITION, plain_name
from zombieproof.traces.readers.recognise import EMPTY, METADATA_TOPIC, NO_EVIDENCE_IN_IT
from zombieproof.traces.verdict.faults import Fault
from zombieproof.traces.verdict.report import EarlierLog, Gap, NotJudged, named

SHOWN = 3


def not_judged(folded: Folded) -> list[NotJudged]:
    """Everything that the verdict says nothing about, by name."""
    evidence, histories, partitions = folded.evidence, folded.histories, folded.partitions
    gaps = [*_missing_partitions(evidence, histories, folded.applications), *_missing_coordinators(evidence, histories)]
    logs = evidence.partition_logs()
    gaps += _emptied(evidence)
    gaps += _of_unknown_logs(
        {place: noted for place, noted in folded.outside.items() if not _is_empty(logs.get(place))}
    )
    gaps += (_of_open_end(evidence, place, faults) for place, faults in folded.open_ends.items())
    for log in logs.values():
        gaps += _before(log)
        gaps += _unreadable(log, evidence)
        gaps += _holes(log)
        gaps += _contradicted(log)
        gaps += _hidden(log, partitions, evidence)
    gaps += map(_hole_in_copy, evidence.holes_in_copies)
    gaps += (_repeated(history, *offsets) for history in histories for offsets in history.repeats)
    gaps.sort(key=lambda gap: (gap.name, NONE if gap.first_offset is None else gap.first_offset))
    return gaps


# ---------------------------------------------------------------- partitions that were not given


def _missing_partitions(
    evidence: Evidence, histories: Sequence[IdHistory], applications: Iterable[ApplicationTransaction]
) -> Iterator[NotJudged]:
    given = evidence.partition_logs()
    gone = set(earlier_of_gone(evidence, histories))
    reasons: dict[TopicPartition, list[str]] = {}
    for history in histories:
        listing: dict[TopicPartition, list[RecordedTransaction]] = {}
        for txn in history.transactions:
            for place in (txn.partitions or frozenset()) - given.keys() - gone:
                listing.setdefault(place, []).append(txn)
        for place, transactions in listing.items():
            count = f"{len(transactions)} transactions, first" if len(transactions) > 1 else "a transaction"
            listed = f"{history.transactional_id!r} lists it in {count} ({identity(transactions[0])})"
            reasons.setdefault(place, []).append(listed)
    known = set(reasons)
    yield from _empty_partitions(evidence, histories)
    for application in applications:
        for place in {place for place, _ in application.records} - given.keys() - gone:
            reasons.setdefault(place, []).append(f"application {application.client!r} was told of records on it")
    for line in evidence.coordinator_lines:
        for place in (line.target.partitions if line.target else frozenset()) - given.keys() - known - gone:
            reasons.setdefault(place, []).append(f"a broker's log says that {line.transactional_id!r} lists it")
    for place, why in reasons.items():
        yield NotJudged(
            name=named(place),
            gap=Gap.MISSING,
            why=f"{_some(why)}, and no log of it was given",
            fetch=_log_of(place, evidence),
        )


def _empty_partitions(evidence: Evidence, histories: Iterable[IdHistory]) -> Iterator[NotJudged]:
    """Each partition that a complete transaction lists had at least its marker, whatever became of it."""
    for place, listing in _listing_empty(evidence, histories).items():
        created = evidence.created_ms(place)
        later = [txn for txn in listing if created is None or txn.completed_ms is None or txn.completed_ms >= created]
        if later:
            who = f"{later[0].transactional_id!r} ({identity(later[0])})"
            why = f"{who} was completed on it, and what was given is empty"
            fetch = f"{_log_of(place, evidence)}; if the topic was created again since, {METADATA}, which says so"
            yield NotJudged(name=named(place), gap=Gap.MISSING, why=why, fetch=fetch)


def _listing_empty(
    evidence: Evidence, histories: Iterable[IdHistory]
) -> dict[TopicPartition, list[RecordedTransaction]]:
    """The complete transactions that list a partition of which an empty log was given."""
    empty = {place for place, log in evidence.partition_logs().items() if _is_empty(log)}
    found: dict[TopicPartition, list[RecordedTransaction]] = {}
    for txn in (txn for history in histories for txn in history.transactions if txn.completed):
        for place in empty & (txn.partitions or frozenset()):
            found.setdefault(place, []).append(txn)
    return found


def _is_empty(log: PartitionLog | None) -> bool:
    return log is not None and not log.batches and not log.end_offset and not log.torn_tail


def _emptied(evidence: Evidence) -> Iterator[NotJudged]:
    """Partitions of Kafka's coordinators that a file is named after in which nothing is read, as a filter leaves it."""
    given = evidence.partition_logs()
    for each in evidence.ignored:
        named_place = partition_named_by(each.file) if each.reason in {NO_EVIDENCE_IN_IT, EMPTY} else None
        place = (named_place.place.topic, named_place.place.partition) if named_place is not None else None
        if place is not None and place[0] in DECODERS and place not in given:
            yield NotJudged(
                name=named(place),
                gap=Gap.MISSING,
                why=f"{plain_name(each.file)} is named after it, and nothing in it can be read",
                fetch=f"the directory, or the whole text that kafka-dump-log {DECODERS[place[0]]} prints of it",
            )


# ---------------------------------------------------------------- topics that were deleted


METADATA = f"the directory {METADATA_TOPIC}-0 of a broker or controller"
CLEANER_EVIDENCE = (
    "; if the topic is compacted, the file cleaner-offset-checkpoint from the folder that {name} is in, "
    f"or {METADATA}, which has its cleanup.policy"
)


def earlier_of_gone(evidence: Evidence, histories: Iterable[IdHistory]) -> dict[TopicPartition, int]:
    """Partitions that exist no more, by what records of topics say, and how many transactions list them."""
    given = evidence.partition_logs()
    listed = Counter(place for history in histories for txn in history.transactions for place in txn.partitions or ())
    named_there = {place for line in evidence.coordinator_lines if line.target for place in line.target.partitions}
    places = (listed.keys() | named_there) - given.keys()
    return {place: listed[place] for place in sorted(places) if evidence.is_gone(place)}


def earlier_logs(
    evidence: Evidence, histories: Sequence[IdHistory], outside: Mapping[TopicPartition, Outside]
) -> list[EarlierLog]:
    """Partitions of which transactions or records belong to an earlier log, which is not there any more."""
    found = [
        EarlierLog(partition=named(place), count=count, present_began_ms=None)
        for place, count in earlier_of_gone(evidence, histories).items()
    ]
    for place, listing in _listing_empty(evidence, histories).items():
        created = evidence.created_ms(place)
        count = sum(created is not None and (txn.completed_ms or created) < created for txn in listing)
        if count:
            found.append(EarlierLog(partition=named(place), count=count, present_began_ms=created))
    empty = {each.partition for each in found}
    logs = evidence.partition_logs()
    for place, noted in sorted(outside.items()):
        if noted.earlier and named(place) not in empty:
            life = began(logs[place], evidence.created_ms(place))
            began_ms = life.not_before_ms if life.by_ms is None else life.by_ms
            found.append(EarlierLog(partition=named(place), count=len(noted.earlier), present_began_ms=began_ms))
    return found


def _of_unknown_logs(outside: Mapping[TopicPartition, Outside]) -> Iterator[NotJudged]:
    for place, noted in outside.items():
        if noted.unknown:
            who = _some(noted.unknown.values())
            why = f"nothing of this is in the log, which may have begun later: {who}; either the topic was deleted and "
            yield NotJudged(
                name=named(place),
                gap=Gap.MISSING,
                why=f"{why}created again in between, or this is lost",
                fetch=f"{METADATA}, which says when topics were created",
            )


def _of_open_end(evidence: Evidence, place: TopicPartition, faults: Iterable[Fault]) -> NotJudged:
    """What a dump that may be cut lacks; `faults` is what that would be if the dump were whole."""
    log, name = evidence.log(*place), named(place)
    end = log.end_offset if log else 0
    return _offsets_of(
        name,
        end,
        None,
        why=f"{_some(fault.message for fault in faults)}; either this is so, or the dump of {name} is cut at its end, "
        "or older than the rest: nothing shows that it goes up to the end of the log",
        fetch=f"the dump of {name} made again, with that of its newest .snapshot or with the log end offset that a "
        f"tool reports: a log that ends at offset {end} breaks the protocol",
    )


def _some(reasons: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(reasons))
    more = len(distinct) - SHOWN
    return "; ".join(distinct[:SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _log_of(place: TopicPartition, evidence: Evidence) -> str:
    return f"the directory of {named(place)}, or the text that kafka-dump-log prints of it{_where(place, evidence)}"


def _where(place: TopicPartition, evidence: Evidence) -> str:
    """Which brokers have it, if a broker's log tells."""
    found: dict[int, str] = {}
    for each in evidence.hosted:
        if each.place == place and each.node_id is not None:
            found.setdefault(each.node_id, f"{plain_name(each.file)}, line {each.line}")
    if not found:
        return ""
    brokers = " and ".join(f"broker {node} ({source})" for node, source in sorted(found.items()))
    return f"; it lies on {brokers}"


# ---------------------------------------------------------------- coordinators that were not given


def _missing_coordinators(evidence: Evidence, histories: Sequence[IdHistory]) -> Iterator[NotJudged]:
    homes = {history.transactional_id: history.log_partition for history in histories}
    count = number_of_partitions({name: home for name, home in homes.items() if home >= 0})
    by_home: dict[str, list[str]] = {}
    unknown = {name: why for name, why in _ids_elsewhere(evidence) if name not in homes}
    for name, why in unknown.items():
        home = home_of(name, count)
        by_home.setdefault(home, []).append(f"{name!r}, which {why}")
    expired = _ids_may_have_expired(evidence, count)
    for home, ids in by_home.items():
        place = home.split(" ")[0]
        if not (expired and (TRANSACTION_STATE, int(place.rpartition("-")[2])) in evidence.partition_logs()):
            why = f"no record of {_some(ids)} was given"
            yield NotJudged(name=place, gap=Gap.MISSING, why=why, fetch=f"{home}{_how_printed()}")
    owned = {producer_id for history in histories for producer_id in history.producer_ids}
    strangers = _strangers(evidence, owned)
    if strangers and not expired:
        who = _some(f"producer {producer_id} on {', '.join(places)}" for producer_id, places in strangers.items())
        given = sorted(named(place) for place in evidence.partition_logs() if place[0] == TRANSACTION_STATE)
        where = f"in what was given of {', '.join(given)}" if given else "since no log of it was given"
        yield NotJudged(
            name=TRANSACTION_STATE,
            gap=Gap.MISSING,
            why=f"whose transactions are those of {who} is not known {where}",
            fetch=f"{'the other' if given else 'all'} partitions of {TRANSACTION_STATE}{_how_printed()}",
        )


def _how_printed() -> str:
    return ": the directory, or the text of kafka-dump-log --transaction-log-decoder"


def _strangers(evidence: Evidence, owned: set[int]) -> dict[int, list[str]]:
    """Producers of transactional data or markers that no id owns, and the partitions on which they are."""
    found: dict[int, list[str]] = {}
    for log in evidence.partition_logs().values():
        if log.topic == TRANSACTION_STATE:
            continue
        for producer_id in sorted(_transactional_producers(log) - owned):
            found.setdefault(producer_id, []).append(named(log.topic_partition))
    return found


def _transactional_producers(log: PartitionLog) -> set[int]:
    if log.cleared is not None:
        return set(log.cleared.transactional_producers())
    return {batch.producer_id for batch in log.batches if batch.is_transactional and batch.producer_id != NONE}


def _ids_elsewhere(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """Transactional ids that other evidence shows to have been given a producer id, and what it says."""
    for line in evidence.coordinator_lines:
        if line.phase is Phase.COMPLETE:
            yield line.transactional_id, f"{plain_name(line.file)}, line {line.line}, speaks of"
    for client_line in evidence.client_lines:
        if client_line.transactional_id and client_line.fact is ClientFact.IDENTITY and client_line.producer_id >= 0:
            yield client_line.transactional_id, f"{plain_name(client_line.file)}, line {client_line.line}, speaks of"
    for call in evidence.client_calls:
        if call.transactional_id and call.action == "commit" and call.result == "ok":
            yield call.transactional_id, f"{plain_name(call.file)}, line {call.line}, speaks of"
    for outcome in evidence.client_outcomes:
        if outcome.told == "committed":
            yield outcome.transactional_id, f"{plain_name(outcome.file)}, line {outcome.line}, speaks of"


def _ids_may_have_expired(evidence: Evidence, count: int | None) -> bool:
    """Whether all partitions of the coordinators' topic are there, and records were taken out of them.

    An id that was not used for a week is forgotten (reference §2.15): then nothing that one could fetch names it.
    """
    logs = [log for log in evidence.partition_logs().values() if log.topic == TRANSACTION_STATE]
    if count is None or {log.partition for log in logs} != set(range(count)):
        return False
    return any(log.compacted or log.start_offset > 0 for log in logs) and not any(map(_is_broken, logs))


def _is_broken(log: PartitionLog) -> bool:
    return bool(log.torn_tail or log.damaged_at or log.lost)


# ---------------------------------------------------------------- what was given and cannot be read


def _before(log: PartitionLog) -> Iterator[NotJudged]:
    """What stands before a log of which nothing shows that it begins where what was given does."""
    begin, name = log.start_offset, named(log.topic_partition)
    if log.is_begin_unknown and not any(lost.first < begin for lost in log.lost):
        yield NotJudged(
            name=name,
            gap=Gap.MISSING,
            first_offset=0,
            last_offset=begin - 1,
            why=f"what was given begins at offset {begin}, and nothing shows that the log does",
            fetch=f"the segments of {name} before offset {begin}; if they were deleted, leader-epoch-checkpoint and "
            f"{begin:020}.snapshot from its folder",
        )


def _unreadable(log: PartitionLog, evidence: Evidence) -> Iterator[NotJudged]:
    """Where a log is cut, damaged or not given."""
    behind = log.end_offset
    for lost in log.lost:
        yield _part(log, lost.first, lost.last, f"{lost.why}, and what was given does not hold it")
    known = {lost.first for lost in log.lost}
    if log.torn_tail and behind not in known:
        yield _part(log, behind, None, "what was given is cut or damaged there")
    if not log.damaged_at:
        return
    begins = {lost.last + 1 for lost in log.lost if lost.last is not None}
    in_copies = (hole for hole in evidence.holes_in_copies if hole.is_judged and hole.place == log.topic_partition)
    begins |= {hole.last + 1 for hole in in_copies}
    begins |= {log.start_offset} if log.is_begin_unknown else set()
    expected = log.start_offset
    for batch in log.batches:
        if batch.base_offset in log.damaged_at and batch.base_offset not in begins:
            last = batch.base_offset - 1 if batch.base_offset > expected else None
            yield _part(log, min(expected, batch.base_offset), last, "something that cannot be read stands there")
        expected = batch.last_offset + 1


def _holes(log: PartitionLog) -> Iterator[NotJudged]:
    """Offsets that are missing inside a log of which no cleaner is known, or where none had been yet."""
    for gap in log.missing():
        why, fetch = log.holes_why, CLEANER_EVIDENCE
        if log.holes is Holes.CLEANER:
            if log.cleaned_to is None or gap.last < log.cleaned_to:
                continue
            why, fetch = f"the cleaner had come to offset {log.cleaned_to} only (cleaner-offset-checkpoint)", ""
        name, where = named(log.topic_partition), span(gap.first, gap.last)
        which = "is" if gap.first == gap.last else "are"
        yield _offsets_of(
            name,
            gap.first,
            gap.last,
            why=f"{where} {which} missing between batches that are there, and {why}",
            fetch=f"another copy of {name} that has {where}" + fetch.format(name=name),
        )


def _contradicted(log: PartitionLog) -> Iterator[NotJudged]:
    """Producer snapshots that say something else of open transactions than the log."""
    name = named(log.topic_partition)
    for each in log.contradictions:
        yield _offsets_of(
            name,
            each.first,
            each.last,
            why=f"{each.why}: one of the two is damaged, or of another log",
            fetch=f"the log of {name} and the producer snapshots in its folder, copied together from one broker",
        )


def _hole_in_copy(hole: HoleInCopy) -> NotJudged:
    """Offsets that one copy lacks inside and another has."""
    name, where = named(hole.place), span(hole.first, hole.last)
    which = "is" if hole.first == hole.last else "are"
    return _offsets_of(
        name,
        hole.first,
        hole.last,
        why=f"{where} {which} missing in the copy of {hole.replica}, not in that of {hole.other}, and {hole.why}",
        fetch=f"the copy of {name} on {hole.replica} again" + CLEANER_EVIDENCE.format(name=name),
    )


def _repeated(history: IdHistory, offset: int, earlier: int) -> NotJudged:
    """A record of the coordinator that is there twice."""
    name = named((TRANSACTION_STATE, history.log_partition))
    return _offsets_of(
        name,
        offset,
        offset,
        why=f"the record of {history.transactional_id!r} at offset {offset} is the one at offset {earlier} again, its "
        "time included: the log was put together from parts, or changed",
        fetch=f"another copy of {name}, as a broker left it",
    )


def _part(log: PartitionLog, first: int, last: int | None, why: str) -> NotJudged:
    offsets = f"from offset {first} on" if last is None else f"at {span(first, last)}"
    name = named(log.topic_partition)
    fetch = f"another copy of {name}, or its dump made anew, with what is {offsets}"
    return _offsets_of(name, first, last, why=why, fetch=fetch)


def _offsets_of(name: str, first: int, last: int | None, *, why: str, fetch: str) -> NotJudged:
    """Offsets of a partition that cannot be read; None: all from the first one on."""
    return NotJudged(name=name, gap=Gap.UNREADABLE, first_offset=first, last_offset=last, why=why, fetch=fetch)


def _hidden(
    log: PartitionLog, partitions: Mapping[TopicPartition, PartitionHistory], evidence: Evidence
) -> Iterator[NotJudged]:
    """What a dump does not show: how transactions end, what coordinators wrote, of which partition it is."""
    name = named(log.topic_partition)
    history = partitions.get(log.topic_partition)
    notes = [note.reason for note in evidence.ignored if note.file in log.files]
    if history is not None:
        unclear = history.undisclosed()
        if unclear:
            option = "--print-data-log"
            if any(reason.endswith(WITHOUT_METADATA) for reason in notes):
                option += ", without --skip-record-metadata,"
            yield _unshown(name, min(unclear), f"the dump does not show whether {_which(unclear)}", option)
    decoder = DECODERS.get(log.topic)
    if log.source is Source.DUMP and log.partition == UNKNOWN_PARTITION and decoder is None:
        yield NotJudged(
            name=name,
            gap=Gap.HIDDEN,
            why="neither a line 'Dumping …' nor the name of the file says of which partition the batches are",
            fetch="the whole output of kafka-dump-log, or a name of the file after its partition, such as orders-0.txt",
        )
    if decoder is None or log.partition == UNKNOWN_PARTITION:
        return
    read = {record.offset for record in evidence.transaction_states if record.partition == log.partition}
    if log.topic == CONSUMER_OFFSETS:
        read = {commit.log_offset for commit in evidence.offset_commits if commit.log_partition == log.partition}
    why = next((why for why in UNSHOWN if any(reason.endswith(why) for reason in notes)), None)
    if why is not None and not read:
        shows = "the dump does not show its records" if why == WITHOUT_RECORDS else f"it {why}"
        if why == NOT_DECODED:
            shows = f"it was dumped without {decoder}"
        option = f"{decoder}, without --skip-record-metadata," if why == WITHOUT_METADATA else decoder
        yield _unshown(name, log.start_offset, shows, option)


def _which(unclear: Sequence[int]) -> str:
    """Markers by offset, and the verb that follows."""
    if len(unclear) == 1:
        return f"the marker at offset {unclear[0]} commits or aborts"
    return f"the {len(unclear)} markers at {span(min(unclear), max(unclear))} commit or abort"


def _unshown(name: str, offset: int, why: str, option: str) -> NotJudged:
    fetch = f"the text that kafka-dump-log {option} prints of {name}"
    return NotJudged(name=name, gap=Gap.HIDDEN, first_offset=offset, last_offset=None, why=why, fetch=fetch)
