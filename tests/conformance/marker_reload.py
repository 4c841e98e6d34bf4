"""A marker that is answered after its coordinator was loaded anew: words of the marker suite."""

from tests.conformance.baselines import rules_of
from tests.conformance.cases import Case, NotRunnable
from tests.conformance.marker_host import NAMES, Host, record_of
from tests.conformance.phrases import Fields, check, error_of, matched
from zombieproof.broker.cluster.journal import Journal
from zombieproof.broker.coordinator.markers import (
    DecidedTransaction,
    Leader,
    MarkerChannel,
)
from zombieproof.formats.topics import TopicPartition
from zombieproof.messages.partitions import MarkerWritten, WriteTxnMarkersAnswer
from zombieproof.model.rules import Rules
from zombieproof.statemachines.coordinator.completion import MarkerOutcome, Standing


def no_completion_lost(case: Case) -> None:
    given = matched(
        r"a marker of coordinator epoch (?P<old>\d+) in flight; its log partition unloaded, "
        r"then loaded at epoch (?P<new>\d+) and markers added again",
        case.given,
    )
    when = matched(
        r"for old reply in \{(?P<replies>[^}]*)\} x state seen by the old reply in \{(?P<states>[^}]*)\}: "
        r"old reply arrives, then the new marker is answered (?P<answer>\w+)",
        case.when,
    )
    expect = Fields(case.expect, "expect")
    count = int(matched(r"exactly (\d+)", expect.take("appends_of_CompleteCommit"))[1])
    wanted = [expect.take("at_coordinator_epoch")] * count
    expect.done()
    old, new = int(given["old"]), int(given["new"])
    for reply in when["replies"].split(", "):
        for seen in when["states"].split(", "):
            errors = None if reply == "disconnected" else {("partition1", 0): error_of(reply)}
            answer = {("partition1", 0): error_of(when["answer"])}
            what = f"completions behind {reply}, {seen}"
            check(what, wanted, _by_events(Host(rules_of(case.baseline)), (old, new), seen, errors, answer))
            check(f"{what}, seen late", wanted, _by_a_late_look((old, new), seen, errors, answer))


def _by_events(
    host: Host,
    epochs: tuple[int, int],
    seen: str,
    errors: dict[TopicPartition, int] | None,
    answer: dict[TopicPartition, int],
) -> list[int]:
    """The coordinator epochs of the completions, where the old reply comes when the coordinator is in that state."""
    name, partition = "t2", NAMES.index("t2")
    host.metadata.create("partition1", [(1,)])
    host.load(name, epochs[0])
    (old,) = host.drain()
    host.coordinator.resign(partition, None)
    if seen == "NOT_COORDINATOR":
        host.answer(old, errors)
        host.load(name, epochs[1])
    elif seen == "COORDINATOR_LOAD_IN_PROGRESS":
        host.coordinator.begin_loading(partition, epochs[1])
        host.answer(old, errors)
        host.carry_out(host.coordinator.finish_loading(partition, epochs[1], [record_of(name)]))
    elif seen == f"entry at epoch {epochs[1]}":
        host.load(name, epochs[1])
        host.answer(old, errors)
    else:
        raise NotRunnable(f"state {seen!r} is not understood")
    for request in host.drain():
        host.answer(request, answer)
    return [one.coordinator_epoch for one in host.appends if one.value is not None and one.value.state == 4]


def _by_a_late_look(
    epochs: tuple[int, int], seen: str, errors: dict[TopicPartition, int] | None, answer: dict[TopicPartition, int]
) -> list[int]:
    """The same for a channel whose new markers are queued already when the old reply finds that state."""
    channel = MarkerChannel(Rules(), Journal())
    partition = ("partition1", 0)
    old, new = (DecidedTransaction("t2", 1, epoch, 1, 0, committed=True, transaction_version=0) for epoch in epochs)

    def leader_of(_: TopicPartition) -> Leader:
        return Leader(topic_exists=True, node=1)

    def in_office(_: str) -> Standing:
        return Standing(0, known=True, coordinator_epoch=epochs[1])

    def as_seen(name: str) -> Standing:
        return (
            in_office(name) if seen.startswith("entry") else Standing(error_of(seen), known=False, coordinator_epoch=-1)
        )

    channel.add(old, frozenset({partition}), leader_of, lambda _: Standing(0, True, epochs[0]))
    (sent,) = channel.drain(leader_of, in_office).requests
    channel.remove(old.txn_partition)
    channel.add(new, frozenset({partition}), leader_of, in_office)
    reply = None if errors is None else WriteTxnMarkersAnswer((MarkerWritten(1, errors),))
    results = channel.answered(sent.number, reply, leader_of, as_seen)
    for request in channel.drain(leader_of, in_office).requests:
        again = WriteTxnMarkersAnswer((MarkerWritten(1, answer),))
        results += channel.answered(request.number, again, leader_of, in_office)
    written = [result.transaction for result in results if result.outcome == MarkerOutcome.WRITTEN]
    return [one.coordinator_epoch for one in written if channel.finish(one)]
