"""A cluster that remembers beside one that has read its logs: what they answer, and which lost fact explains it.

Theory of operation: from one moment three clusters go on. One keeps its memory. One loses it and reads its logs. One
keeps it and is made to forget the facts of ``omissions.MEMORY_ONLY``, one function each. Whatever is asked or sent, the
last two answer alike; so where the first one answers otherwise these facts are why, and `explain` says which.
"""

from collections.abc import Callable, Mapping

from tests.live.frozen import Frozen
from tests.live.recovery_memory import FORGET, SURVIVES_ELSEWHERE, forget
from tests.live.recovery_program import Program
from tests.live.recovery_questions import Answers, Probe, battery, probes
from zombieproof.broker.cluster.cluster import Cluster

EPOCHS = frozenset({"the epochs of leaders and coordinators"})
"""They rise with every start, and nearly every record shows it; so the cluster that remembers gets them too."""


def fail_over(cluster: Cluster) -> None:
    """Every partition gets another leader; the old ones live on, and resign.

    A marker may come to one that has led until then, and has to be sent again.
    """
    for partition, known in list(cluster.metadata.partitions.items()):
        if len(known.in_sync) > 1:
            cluster.elect(partition)
    cluster.settle()
    cluster.resend_markers()


DROPS: Mapping[str, Callable[[Cluster], None]] = {
    "stopped": lambda cluster: cluster.restart(clean=True),
    "killed": lambda cluster: cluster.restart(clean=False),
    "failed over": fail_over,
}
"""How memory is lost."""


class Difference(AssertionError):
    """What was answered from memory is not what is answered from the logs, and no listed fact explains it."""


class Twins:
    """The three clusters of one moment.

    Args:
        program: what has happened. Where leaders change nothing may be under way: other brokers would go on with it.
        how: a key of `DROPS`.
    """

    def __init__(self, program: Program, how: str) -> None:
        if how == "failed over":
            program.run(("hold", False))
        self._program = program
        self._frozen = Frozen(program.cluster)
        self.facts = frozenset(FORGET) - (SURVIVES_ELSEWHERE if how == "failed over" else frozenset())
        recovered = self._frozen.thaw()
        DROPS[how](recovered)
        recovered.settle()
        self._recovered = recovered
        self._read, self._forgot = Frozen(recovered), Frozen(self._forget(self.facts))
        self._kept = Frozen(self._forget(EPOCHS))

    def _forget(self, facts: frozenset[str]) -> Cluster:
        return forget(self._frozen, self._recovered, self._program, facts)

    def forgot(self) -> Cluster:
        """The cluster that has forgotten what no log holds."""
        return self._forgot.thaw()

    def remembers(self, probe: Probe) -> bool:
        """Whether memory makes a difference to the answer.

        Raises:
            Difference: it does, and no listed fact explains it.
        """
        read, forgot = probe(self._read.thaw()), probe(self._forgot.thaw())
        if read != forgot:
            raise Difference(_told(read, forgot))
        return probe(self._kept.thaw()) != read

    def explain(self, probe: Probe) -> frozenset[str]:
        """A smallest set of facts without which memory answers as the logs do."""
        read = probe(self._read.thaw())
        needed = self.facts
        for fact in sorted(self.facts - EPOCHS):
            if probe(self._forget(needed - {fact})) == read:
                needed -= {fact}
        return needed - EPOCHS


def _told(read: Answers, forgot: Answers) -> str:
    rows = [
        f"{what}: the logs say {str(read[what])[:600]}; memory, without what no log holds: {str(forgot[what])[:600]}"
        for what in read
        if read[what] != forgot[what]
    ]
    return "\n".join(rows[:3])


def check(program: Program, how: str, only: Callable[[str], bool] = lambda name: True) -> dict[str, frozenset[str]]:
    """Ask and send everything; returned are the probes to which memory makes a difference, with the facts that do.

    Raises:
        Difference: no listed fact explains one.
    """
    twins = Twins(program, how)
    found = dict[str, frozenset[str]]()
    for name, probe in {"questions": battery, **probes(program)}.items():
        if not only(name):
            continue
        try:
            if twins.remembers(probe):
                found[name] = twins.explain(probe)
        except Difference as difference:
            raise Difference(f"{name!r} after memory was lost ({how}): {difference}") from None
    return found
