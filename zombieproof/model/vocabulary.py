"""The words of the protocol as integers: states, events, errors, API keys, rows.

Numbers are Kafka's own wherever Kafka has a number (error codes, API keys, state bytes of ``__transaction_state``).
Source: reference §0, §2.1, §5.1, §7.4, §7.5; clients ``protocol/Errors.java``, ``TransactionState.java``.
"""

from enum import IntEnum

NONE = -1
"""No producer id, epoch, sequence, offset or timestamp (Kafka's own sentinel)."""

NOTHING = 0
"""The event of a verdict that changes nothing, in every machine."""

PRODUCER_EPOCH_MAX = 32767
SEQUENCE_MAX = 2147483647
CACHED_BATCHES = 5
"""Batches a partition leader remembers for each producer id (``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``)."""


class Error(IntEnum):
    """Error codes (``Errors.java``)."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNKNOWN_TOPIC_ID = 100
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    TRANSACTION_ABORTABLE = 120
    INVALID_REGULAR_EXPRESSION = 128
    REBOOTSTRAP_REQUIRED = 129


class ApiKey(IntEnum):
    """API keys (reference §7.5)."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    DESCRIBE_QUORUM = 55
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75


class TransactionVersion(IntEnum):
    """The cluster feature ``transaction.version``."""

    TV0 = 0
    TV1 = 1
    TV2 = 2


class TransactionState(IntEnum):
    """State of a transactional id at its coordinator: the byte in ``__transaction_state`` (reference §2.1).

    DEAD and PREPARE_EPOCH_FENCE are never durable: they are only what a transition under way is heading for.
    """

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


class CoordinatorEvent(IntEnum):
    """What may happen to a transactional id."""

    NOTHING = 0
    INIT = 1
    ADD_PARTITION = 2
    COMMIT = 3
    ABORT = 4
    FENCE = 5
    MARKERS_WRITTEN = 6
    EXPIRE = 7
    KEEP = 8


class ProducerState(IntEnum):
    """State of a producer client instance (``TransactionManager.State``, reference §5.1)."""

    UNINITIALIZED = 0
    INITIALIZING = 1
    READY = 2
    IN_TRANSACTION = 3
    PREPARED_TRANSACTION = 4
    COMMITTING_TRANSACTION = 5
    ABORTING_TRANSACTION = 6
    ABORTABLE_ERROR = 7
    FATAL_ERROR = 8


class ProducerEvent(IntEnum):
    """What may happen to a producer client instance."""

    NOTHING = 0
    INIT_TRANSACTIONS = 1
    INITIALIZED = 2
    BEGIN = 3
    PREPARE = 4
    COMMIT = 5
    ABORT = 6
    END_ACKNOWLEDGED = 7
    BUMP_EPOCH = 8
    ABORTABLE_FAILURE = 9
    FATAL_FAILURE = 10
    RESET = 11


class PartitionState(IntEnum):
    """What a partition leader knows of one producer id."""

    NO_ENTRY = 0
    IDLE = 1
    VERIFYING = 2
    IN_TRANSACTION = 3


class PartitionEvent(IntEnum):
    """What may happen to a producer id at a partition leader."""

    NOTHING = 0
    VERIFY = 1
    APPEND = 2
    BEGIN = 3
    CONTINUE = 4
    COMMIT_MARKER = 5
    ABORT_MARKER = 6
    MARKER_KEEPS_GUARD = 7
    EXPIRE_VERIFICATION = 8
    EXPIRE_PRODUCER = 9


class PendingOffsetsState(IntEnum):
    """What the group coordinator holds for one (group, producer id)."""

    NO_PENDING_OFFSETS = 0
    PENDING = 1


class GroupEvent(IntEnum):
    """What may happen to the pending offsets of one (group, producer id)."""

    NOTHING = 0
    TXN_OFFSET_COMMIT = 1
    COMMIT_MARKER = 2
    ABORT_MARKER = 3
    TOMBSTONE = 4
    TAKE_BACK = 5


class ClassicGroupState(IntEnum):
    """State of a group of the classic protocol (``ClassicGroupState``)."""

    EMPTY = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3
    DEAD = 4


class ClassicGroupEvent(IntEnum):
    """What may happen to a group of the classic protocol."""

    NOTHING = 0
    REBALANCE = 1
    ALL_JOINED = 2
    NOBODY_LEFT = 3
    ASSIGN = 4
    DELETE = 5


class MembershipEvent(IntEnum):
    """What a heartbeat does to a group of the consumer protocol (KIP-848)."""

    NOTHING = 0
    JOIN = 1
    STAY = 2
    LEAVE = 3
    REPLACE = 4
    """A static member comes back, and takes the place that it left."""
    LEAVE_PLACE = 5
    """A static member goes, and its place waits for it."""


class ConsumerGroupState(IntEnum):
    """How far a consumer group is (``ConsumerGroup.ConsumerGroupState``); nothing but descriptions depends on it."""

    EMPTY = 0
    ASSIGNING = 1
    RECONCILING = 2
    STABLE = 3


class ConsumerMemberState(IntEnum):
    """How far a member of a consumer group is on its way to what it shall have (``MemberState``)."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


class ConsumerMemberEvent(IntEnum):
    """What becomes of what a member of a consumer group has."""

    NOTHING = 0
    REVOKE = 1
    AWAIT = 2
    SETTLE = 3


class ConsumerState(IntEnum):
    """What a read_committed consumer does with the batches of one producer id."""

    DELIVERING = 0
    SKIPPING = 1
    BUFFERING = 2


class ConsumerEvent(IntEnum):
    """What a consumer meets in a log while it reads on behalf of one producer id."""

    NOTHING = 0
    PLAIN_DATA = 1
    ABORTED_TRANSACTION_BEGINS = 2
    TRANSACTIONAL_DATA = 3
    COMMIT_MARKER = 4
    ABORT_MARKER = 5


class Isolation(IntEnum):
    """How a consumer reads. BUFFERING is the client-side way of the KIP-98 text, which Kafka does not use."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    READ_COMMITTED_BUFFERING = 2


class Place(IntEnum):
    """What ListOffsets looks for in a partition: a time, or what a negative one stands for."""

    TIME = 0
    LATEST = -1
    EARLIEST = -2
    GREATEST_TIME = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class Origin(IntEnum):
    """Who appends to a partition (``AppendOrigin``, reference §3.1)."""

    CLIENT = 0
    COORDINATOR = 1
    REPLICATION = 2


class Mode(IntEnum):
    """How a partition joins a transaction when it is written to (reference §3.4, ``TransactionSupportedOperation``)."""

    DEFAULT = 0
    GENERIC = 1
    ADD = 2


class Reaction(IntEnum):
    """What a producer client does with an answer (reference §5.5, §5.6).

    ABORTABLE_AND_BUMP: only abort is left, and (unless EndTxn itself raises the epoch) the client raises it behind the
    abort. FORGET_PRODUCER_ID: an idempotent producer of the rules before KIP-360 starts anew, with possible duplicates.
    RENUMBER_AND_RETRY: the leader forgot the producer, its sequences of that partition begin again at 0.
    """

    DONE = 0
    RETRY = 1
    FIND_COORDINATOR_AND_RETRY = 2
    ABORTABLE = 3
    ABORTABLE_AND_BUMP = 4
    FATAL = 5
    FAIL_BATCH = 6
    BUMP_LOCALLY = 7
    FORGET_PRODUCER_ID = 8
    RENUMBER_AND_RETRY = 9
    SPLIT_BATCH = 10


class SequenceRepair(IntEnum):
    """What a batch that failed for good does to the sequences of its partition (reference §5.6)."""

    KEEP = 0
    SHIFT_LATER_BATCHES = 1
    FORGET_PARTITION = 2
    BUMP_LOCALLY = 3
    FORGET_PRODUCER_ID = 4


class LogEntry(IntEnum):
    """What a batch in a partition log is: data, an offset commit, both transactional or plain, or a marker.

    TOMBSTONE deletes all offsets of a group.
    """

    NOTHING = 0
    DATA = 1
    PLAIN = 2
    OFFSET = 3
    COMMIT = 4
    ABORT = 5
    PLAIN_OFFSET = 6
    TOMBSTONE = 7


class Outcome(IntEnum):
    """How a transaction ends, or ended."""

    UNDECIDED = 0
    COMMIT = 1
    ABORT = 2


class ConnectionState(IntEnum):
    """State of a connection to a listener that demands SASL: what may come on it next."""

    NEW = 0
    VERSIONS_TOLD = 1
    AUTHENTICATING = 2
    EXCHANGING_TOKENS = 3
    AUTHENTICATED = 4
    CLOSED = 5


class ConnectionEvent(IntEnum):
    """What moves such a connection; NOTHING: it stays as it is."""

    NOTHING = 0
    TELL_VERSIONS = 1
    AGREE = 2
    AGREE_ON_TOKENS = 3
    CHALLENGE = 4
    ACCEPT = 5
    CLOSE = 6


class Evaluation(IntEnum):
    """What a mechanism says to the token of a client."""

    REFUSED = 0
    CHALLENGED = 1
    ACCEPTED = 2


class Row(IntEnum):
    """The row of the reference that answered (§2.5 to §4.5): the name is the row.

    Names that the reference does not have are spelled out (``NOT_KNOWN`` for "absent").
    """

    NO_ROW = 0
    NOT_KNOWN = 1
    L1 = 2
    L2 = 3
    NO_COORDINATOR = 4
    HALF_AN_EXPECTATION = 5
    NOT_WRITABLE = 6
    NOT_THE_LEADER = 7
    INTERNAL_TOPIC = 8
    CORRUPT_BATCH = 9
    UNKNOWN_ACKS = 10
    I1 = 11
    I2 = 12
    I3 = 13
    I4 = 14
    I5 = 15
    I7 = 17
    I8 = 18
    I9 = 19
    I10 = 20
    I11A = 21
    I11B = 22
    I11C = 23
    I11D = 24
    I11E = 25
    I11F = 26
    I12 = 27
    I13 = 28
    KEPT = 29
    P1 = 31
    P3 = 33
    P4 = 34
    P5 = 35
    P6 = 36
    P7 = 37
    P8 = 38
    V1 = 41
    V3 = 43
    V4 = 44
    V5 = 45
    V6 = 46
    V7 = 47
    E1 = 51
    E3 = 53
    E4 = 54
    E5 = 55
    E6 = 56
    E7 = 57
    E8 = 58
    E9 = 59
    E10 = 60
    E11 = 61
    E12 = 62
    T1 = 71
    T3 = 73
    T4 = 74
    T5 = 75
    T6 = 76
    T7 = 77
    T8 = 78
    T9 = 79
    T10 = 80
    T11 = 81
    T12 = 82
    F1 = 91
    F2 = 92
    F3 = 93
    F4 = 94
    F5 = 95
    C1 = 101
    C2 = 102
    C3 = 103
    C4 = 104
    C5 = 105
    X1 = 111
    X2 = 112
    X3 = 113
    X4 = 114
    X5 = 115
    Y1 = 121
    Y2 = 122
    W1 = 131
    W2 = 132
    W3 = 133
    W4 = 134
    W5 = 135
    W7 = 137
    W8 = 138
    A1 = 141
    A2 = 142
    A3 = 143
    A4 = 144
    A6 = 146
    A7 = 147
    S1 = 151
    S2 = 152
    S3 = 153
    S5 = 155
    G1 = 161
    G2 = 162
    G3 = 163
    G4 = 164
    STEP_1 = 165
    STEP_2 = 166
    STEP_3 = 167
    M1 = 171
    M2 = 172
    M3 = 173
    M4 = 174
    M5 = 175
    O1 = 181
    O3 = 183
    O4 = 184
    O5 = 185
    O6 = 186
    O7 = 187
    O8 = 188
    O9 = 189
    O10 = 190
    NO_GROUP_ID = 191
    UNKNOWN_MEMBER = 192
    FENCED_INSTANCE = 193
    WRONG_GENERATION = 194
    MEMBER_NOT_NAMED = 195
    REBALANCING = 196
    OTHER_PROTOCOL = 197
    MEMBER_ID_FIRST = 198
    MEMBER_JOINS = 199
    MEMBER_IS_IN = 200
    MEMBER_LEAVES = 201
    LEADER_ASSIGNS = 202
    OTHER_EPOCH = 203
    SUBSCRIBED = 204
    OFFSET_DELETED = 205
    OFFSET_KEPT = 206
    OFFSET_EXPIRED = 207
    SESSION_TIMEOUT = 208
    MEMBER_WAITS = 209
    GROUP_FULL = 210
    UNKNOWN_ASSIGNOR = 211
    UNRELEASED_INSTANCE = 212
    REBALANCE_TIMEOUT = 213
    TOO_LARGE = 221
    RECORDS_REFUSED = 222
    GROUP_IN_USE = 248
    GROUP_DELETED = 249
    EMPTY_ID = 251
    BAD_PATTERN = 252
