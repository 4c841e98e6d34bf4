"""What is constant during a run: rules, bounds, budget of faults, programs, and copies that are refused for good."""

from dataclasses import dataclass, field

from zombieproof.checker.transactions.budget import Budget
from zombieproof.checker.transactions.capacities import CLIENTS, LABELS, OPS
from zombieproof.model.fields import array
from zombieproof.model.rules import Rules


@dataclass(slots=True)
class Bounds:
    """What is fixed for a run besides rules and programs.

    `transactional_id` of a client is the index of its id, or -1 for an idempotent producer. `answers_travel` and
    `keep_refused_copies` switch a reduction off (see ``network``), to show that it changes no verdict. With
    `appends_travel` an append to the transaction log is a step of its own, and so is its outcome. With
    `verification_queue` leaders send their questions to coordinators one request after the other. `id_blocks` is how
    many producer ids the controller hands out at a time; with 0 they are counted. With `keeps_position` an application
    that closes its producer and takes a new one goes on from where it was told that it is, and asks the group nothing.
    With `looks_first` an administrator aborts by hand what no coordinator lists, and nothing else. With `restarts` an
    instance that is fenced is started anew by whoever supervises it, and begins its transaction again (see ``epochs``).
    `more_producer_ids` makes room for ``MORE_PRODUCER_IDS``, for where the largest epoch is small.
    With `group_appends` a commit of offsets is appended first, and answered later (see ``group_appends``).
    With `replicated` a record is in a log before the other replicas have it (see ``replicas``).
    With `reads_in_steps` a fetch takes its bound at one time, and reads at another one.
    With `no_members` consumers are assigned their input by hand: the group has no members, and commits name none.

    Numbers and no flags, as rules are: what is given says `name=1`.
    """

    clients: int = 1
    transactional_id: list[int] = array(int, CLIENTS)
    transactions: list[int] = array(int, CLIENTS)
    in_flight: int = 1
    may_abort: int = 0
    grouped: int = 0
    inputs: int = 1
    readers: int = 0
    answers_travel: int = 0
    keep_refused_copies: int = 0
    appends_travel: int = 0
    verification_queue: int = 0
    id_blocks: int = 0
    keeps_position: int = 0
    looks_first: int = 0
    restarts: int = 0
    more_producer_ids: int = 0
    group_appends: int = 0
    replicated: int = 0
    reads_in_steps: int = 0
    no_members: int = 0


@dataclass(slots=True)
class Program:
    """What one application does in each of its transactions."""

    ops: list[int] = array(int, OPS)


EPOCHS = 8
"""Late copies are dropped up to this epoch; none of the registered scenarios reaches it."""


@dataclass(slots=True)
class RefusedCopies:
    """For each kind of late copy, known epoch and own epoch: whether it is refused for good (``late_copies``)."""

    requests: list[bool] = array(bool, 4 * EPOCHS * EPOCHS)
    markers: list[bool] = array(bool, 8 * EPOCHS * EPOCHS)
    batches: list[bool] = array(bool, 32 * EPOCHS * EPOCHS)


@dataclass(slots=True)
class Setup:
    """What is constant during a run."""

    rules: Rules = field(default_factory=Rules)
    bounds: Bounds = field(default_factory=Bounds)
    budget: Budget = field(default_factory=Budget)
    programs: list[Program] = array(Program, LABELS)
    refused: RefusedCopies = field(default_factory=RefusedCopies)
