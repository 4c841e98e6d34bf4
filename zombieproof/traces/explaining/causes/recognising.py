"""How causes are recognised: small predicates over a finding and what the evidence has around it."""

from collections.abc import Sequence

from zombieproof.traces.evidence import BrokerLine
from zombieproof.traces.explaining.causes.cause import Recognised
from zombieproof.traces.explaining.scene.finding_scene import Scene
from zombieproof.traces.verdict.circumstances import Harm

DAY_MS = 24 * 3600 * 1000
POSSIBLE = Recognised(is_likely=False)


def _where(lines: Sequence[BrokerLine]) -> str:
    return f"{lines[0].file}, line {lines[0].line}"


def _told_of_truncation(scene: Scene) -> Recognised:
    said = f"{_where(scene.truncations)}: {scene.truncations[0].text}"
    return Recognised(is_likely=True, because=said, is_told=True)


def always(_: Scene) -> Recognised | None:
    """Nothing in the evidence speaks for it or against it."""
    return POSSIBLE


def log_was_truncated(scene: Scene) -> Recognised | None:
    """A broker says that it cut the log there; without its line nothing speaks for it or against it."""
    return _told_of_truncation(scene) if scene.truncations else POSSIBLE


def by_its_shape(scene: Scene) -> Recognised | None:
    """The shape of the fault is what this cause leaves behind."""
    shape = scene.circumstances.shape
    return Recognised(is_likely=True, because=f"this is what it leaves in the log: {shape}") if shape else None


def marker_was_skipped(scene: Scene) -> Recognised | None:
    """The coordinator says so, or the partition lost its leader behind the data."""
    lines = scene.skipped_markers
    if lines:
        said = f"{_where(lines)}: the coordinator found no leader for {scene.place} and skipped its marker"
        return Recognised(is_likely=True, because=said, is_told=True)
    epochs = scene.leader_epochs_behind
    if scene.is_version_2 is False:
        old = "the transactional id ran under transaction version 0 or 1, so the release may be an older one"
        return Recognised(False, old) if epochs is None or epochs[0] < epochs[1] else None
    if epochs is None:
        return Recognised(False, "nothing follows the data, so it does not show whether the leader changed")
    if epochs[0] < epochs[1]:
        return Recognised(True, _changed(scene, epochs, "behind the data"))
    return None


def leader_changed_behind(scene: Scene) -> Recognised | None:
    """A leader that lost the end of the log: the leader epoch rose behind the data."""
    if scene.skipped_markers:
        return None
    if scene.truncations:
        return _told_of_truncation(scene)
    epochs = scene.leader_epochs_behind
    if epochs is None:
        return POSSIBLE
    return Recognised(False, _changed(scene, epochs, "behind the data")) if epochs[0] < epochs[1] else None


def leader_changed_before(scene: Scene) -> Recognised | None:
    """A leader that did not know, or did not have, what the one before it had."""
    if scene.truncations:
        return _told_of_truncation(scene)
    epochs = scene.leader_epochs_before
    if epochs is None:
        return POSSIBLE
    return Recognised(True, _changed(scene, epochs, "just before it")) if epochs[0] < epochs[1] else None


def same_leader_before(scene: Scene) -> Recognised | None:
    """The leader did not change, and let pass what it should have refused."""
    epochs = scene.leader_epochs_before
    if epochs is None:
        return POSSIBLE
    return Recognised(False, _same(scene, epochs)) if epochs[0] == epochs[1] else None


def was_forgotten(scene: Scene) -> Recognised | None:
    """The same leader, and nothing open of the producer: one with an open transaction is never forgotten."""
    epochs = scene.leader_epochs_before
    before = scene.before_of_producer
    if (epochs is not None and epochs[0] != epochs[1]) or before is None or not before.is_control:
        return None
    at = scene.marker.max_timestamp_ms if scene.marker is not None else scene.began_ms
    if at is None or at < before.max_timestamp_ms:
        return POSSIBLE
    silent_ms = at - before.max_timestamp_ms
    return Recognised(silent_ms >= DAY_MS, f"the producer had been silent there for {silent_ms / 1000:,.1f} s")


def newer_coordinator(scene: Scene) -> Recognised | None:
    """Elsewhere in the evidence there is a marker of this producer with a higher coordinator epoch."""
    marker = scene.marker.marker if scene.marker is not None else None
    newest = scene.newest_coordinator_epoch
    if marker is None or newest is None or newest <= marker.coordinator_epoch:
        return None
    said = f"its coordinator epoch is {marker.coordinator_epoch}, and markers of {newest} are in the evidence"
    return Recognised(True, said)


def producer_was_silent(scene: Scene) -> Recognised | None:
    """The same leader took a sequence twice, some time after the first."""
    epochs = scene.leader_epochs_before
    if epochs is not None and epochs[0] != epochs[1]:
        return None
    silent_ms = _silence(scene)
    if silent_ms is None:
        return Recognised(epochs is not None, _same(scene, epochs) if epochs else "")
    seconds = f"{silent_ms / 1000:,.1f} s after it by the producer's clock"
    if silent_ms >= DAY_MS:
        return Recognised(True, f"the second copy came {seconds}, more than the default of 1 day")
    said = f"the leader is the same and the second copy came {seconds}: less than the default of 1 day, so "
    return Recognised(True, f"{said}producer.id.expiration.ms would be set lower")


def _silence(scene: Scene) -> int | None:
    first = scene.batch_at(scene.circumstances.repeats_offset)
    if first is None or scene.began_ms is None or first.max_timestamp_ms < 0:
        return None
    apart = scene.began_ms - first.max_timestamp_ms
    # A client that sends the same batch again sends its old time: that tells nothing.
    return apart if apart > 0 else None


def nothing_else_changed(scene: Scene) -> Recognised | None:
    """The leader is the same before and behind, so that no election explains it; or that is not told."""
    epochs = scene.leader_epochs_behind or scene.leader_epochs_before
    if scene.skipped_markers or (epochs is not None and epochs[0] != epochs[1]):
        return None
    return POSSIBLE if epochs is None else Recognised(False, _same(scene, epochs))


def without_coordinator(scene: Scene) -> Recognised | None:
    """The coordinator's log is not in the evidence, so that it cannot be told who decided what."""
    return None if scene.states else Recognised(False, "no record of this transactional id is in the evidence")


def _changed(scene: Scene, epochs: tuple[int, int], where: str) -> str:
    return f"the leader epoch of {scene.place} went from {epochs[0]} to {epochs[1]} {where}: its leader was away"


def _same(scene: Scene, epochs: tuple[int, int]) -> str:
    return f"the leader epoch of {scene.place} is {epochs[0]} on both sides: its leader did not change"


def abort_without_decision(scene: Scene) -> Recognised | None:
    """An ABORT marker that no coordinator decided, as kafka-transactions.sh abort writes it."""
    ended = scene.circumstances.ended_by
    if ended is None and scene.marker is not None and scene.marker.marker is not None:
        commits: bool | None = scene.marker.marker.commit
    else:
        commits = None if ended is None else ended.commits
    if commits is None:
        return POSSIBLE
    return None if commits else Recognised(True, "it is an ABORT marker, which is all that the tool writes")


def without_epochs_of_their_own(scene: Scene) -> Recognised | None:
    """Transaction version 0 or 1: a late request of one transaction fits the next one."""
    return None if scene.is_version_2 else POSSIBLE


def delayed_abort(scene: Scene) -> Recognised | None:
    """An abort that the application did not ask for in this transaction, before its time was over."""
    if scene.is_version_2 or scene.circumstances.harm is not Harm.LOST:
        return None
    lasted, limit = _lasted(scene), scene.timeout_ms
    if lasted is None or limit is None:
        return POSSIBLE
    if lasted >= limit or scene.timeouts:
        return None
    said = f"the abort was decided {lasted:,} ms after the first record, long before the time-out of {limit:,} ms"
    return Recognised(True, f"{said}{_answered_later(scene)}{_unanswered_abort(scene)}")


def _unanswered_abort(scene: Scene) -> str:
    """An abort of the same id that the client gave up before: the request may still be on its way."""
    circumstances = scene.circumstances
    for call in scene.evidence.client_calls:
        same = call.transactional_id == scene.finding.transactional_id and call.file == circumstances.file
        if not same or circumstances.line is None or call.line >= circumstances.line:
            continue
        aborts = call.action == "abort" or (call.action == "EndTxn" and call.args.get("result") == "ABORT")
        answered = isinstance(call.result, dict) and call.result.get("error") == "NONE"
        if aborts and not answered and call.result not in ("ok", "aborted"):
            return f"; {call.file}, line {call.line}: an abort was sent before and not answered"
    return ""


def _answered_later(scene: Scene) -> str:
    circumstances = scene.circumstances
    if circumstances.answered_ms is None or circumstances.decided is None or circumstances.decided.prepared_ms is None:
        return ""
    apart = circumstances.answered_ms - circumstances.decided.prepared_ms
    return f", and {apart:,} ms before the application was answered" if apart > 0 else ""


def timed_out(scene: Scene) -> Recognised | None:
    """The abort came when the transaction had lasted as long as it may."""
    if scene.circumstances.harm is not Harm.LOST:
        return None
    lasted, limit = _lasted(scene), scene.timeout_ms
    known = lasted is not None and limit is not None
    measured = (
        f"the abort was decided {lasted:,} ms after the first record; the time-out is {limit:,} ms" if known else ""
    )
    if scene.timeouts:
        said = f"{_where(scene.timeouts)}: {scene.timeouts[0].text}"
        return Recognised(True, f"{said}; {measured}" if measured else said, is_told=True)
    if lasted is None or limit is None:
        return POSSIBLE
    return Recognised(True, measured) if lasted >= limit else None


def _lasted(scene: Scene) -> int | None:
    decided = scene.circumstances.decided
    if decided is None or decided.prepared_ms is None or scene.began_ms is None:
        return None
    return decided.prepared_ms - scene.began_ms


def told_wrongly(scene: Scene) -> Recognised | None:
    """The client answered "committed" by itself: the coordinator aborted later, or never decided."""
    decided, answered = scene.circumstances.decided, scene.circumstances.answered_ms
    if scene.circumstances.harm is Harm.STUCK:
        return Recognised(True, "the coordinator has no decision about it, so nobody can have answered for it")
    if decided is None or decided.prepared_ms is None or answered is None or scene.circumstances.harm is not Harm.LOST:
        return None
    later = decided.prepared_ms - answered
    return (
        Recognised(True, f"the abort was decided {later:,} ms after the application was answered")
        if later > 0
        else None
    )


def delayed_commit(scene: Scene) -> Recognised | None:
    """A commit that the application did not ask for."""
    return None if scene.is_version_2 or scene.circumstances.harm is not Harm.VISIBLE else POSSIBLE


def epoch_raised_twice(scene: Scene) -> Recognised | None:
    """An abort that carries one epoch more than a fence gives."""
    found, expected = _epochs(scene)
    if expected is None or found != expected + 1:
        return None
    return Recognised(True, f"the epoch is {found}, one above {expected}")


def other_epoch(scene: Scene) -> Recognised | None:
    """Another epoch than the rules in force give: releases differ in when they raise it."""
    found, expected = _epochs(scene)
    if expected is None or found == expected:
        return POSSIBLE
    return Recognised(False, f"the epoch is {found} where these rules give {expected}")


def _epochs(scene: Scene) -> tuple[int | None, int | None]:
    return scene.finding.producer_epoch, scene.circumstances.expected_epoch


def marker_repeats_the_epoch(scene: Scene) -> Recognised | None:
    """A marker with the very epoch of the data that it ends, under transaction version 2."""
    data = scene.circumstances.data_epoch
    same = data is not None and scene.finding.producer_epoch == data
    return Recognised(True, f"marker and data have the same epoch {data}") if same and scene.is_version_2 else None


def buried(scene: Scene) -> Recognised | None:
    """The id was forgotten in the middle of a transaction."""
    if scene.circumstances.moved_to != "DEAD":
        return None
    return Recognised(True, f"the id is forgotten directly after {scene.circumstances.moved_from}")
