"""The words of the sink and of the source: states and events of their machines, and what brokers reply to the sink."""

from enum import IntEnum


class DeliveryState(IntEnum):
    """How far a delivery is: of a micro-batch by the driver, or of a task's rows by its attempt."""

    NEW = 0
    FENCING = 1
    LOOKING_UP = 2
    CLAIMING = 3
    SENDING_ROWS = 4
    SENDING_OFFSETS = 5
    COMMITTING = 6
    ABORTING = 7
    DELIVERED = 8
    FOUND_DELIVERED = 9
    KNOWN_ABSENT = 10
    FENCED = 11
    FAILED = 12
    REFUSED = 13
    UNCERTAIN = 14


class DeliveryEvent(IntEnum):
    """What may happen to a delivery."""

    NOTHING = 0
    BEGIN = 1
    FENCE_OTHERS = 2
    OPEN = 3
    FIND = 4
    MISS = 5
    REFUSE = 6
    SEND_ROWS = 7
    SEND_OFFSETS = 8
    COMMIT = 9
    ASK_AGAIN = 10
    ABORT = 11
    END_ABORT = 12
    BE_FENCED = 13
    FAIL = 14
    GIVE_UP = 15
    CLAIM = 16
    END_CLAIM = 17


class Purpose(IntEnum):
    """What a delivery is for."""

    DELIVER = 0
    """Rows are to be delivered unless they have been."""
    RESOLVE = 1
    """It is to be known whether rows were delivered, and nobody may deliver them afterwards under the old epoch."""


class Reply(IntEnum):
    """What came of asking the brokers for something: all that the errors of clients come down to."""

    DONE = 0
    UNKNOWN = 1
    """No answer, or one that leaves the outcome open: the same may be asked again."""
    FENCED = 2
    """Another producer has the transactional id."""
    ABORTABLE = 3
    """The transaction can only be aborted, or is aborted already (its time-out)."""
    FATAL = 4
    """Neither can it go on nor be aborted: rights, versions, a broken setting."""
    GIVEN_UP = 5
    """Asked often enough: there was no answer in the time that there is."""


class Found(IntEnum):
    """What the look-up told of the rows of a delivery."""

    NONE_DELIVERED = 0
    SOME_DELIVERED = 1
    ALL_DELIVERED = 2
    NOT_COMPARABLE = 3
    """What is committed belongs to another query or begins elsewhere: nobody knows whether the rows were delivered."""
    UNCLAIMED = 4
    """Not all rows are delivered, and another mode of the query may be delivering them."""


class Trait(IntEnum):
    """A way in which a plan does more than hand on each row in the task that read it."""

    STATEFUL = 1
    """A row may come from several input rows, or from those of an earlier micro-batch."""
    MOVING = 2
    """Rows reach other tasks than those that read them."""
    CUT = 3
    """Several tasks read one partition of the source."""
    BRANCHES = 4
    """A union of branches of one `load()`: one partition is read once for each."""
    LOADS = 5
    """A union of several `load()`s of one topic, each of which reads at its own speed."""


class ReaderState(IntEnum):
    """Where the reader of a source is between two micro-batches."""

    UNPLACED = 0
    PLACED = 1
    PLANNED = 2


class ReaderEvent(IntEnum):
    """What may happen to a reader."""

    NOTHING = 0
    PLACE_AT_COMMITTED = 1
    PLACE_AS_TOLD = 2
    RESUME = 3
    PLAN = 4
    FINISH = 5
