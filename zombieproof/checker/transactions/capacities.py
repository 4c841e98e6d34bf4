"""How much a state has room for: bounds that Kafka does not have. Reaching one makes a run inconclusive."""

CLIENTS = 2
IDS = 2
NODES = 2
PARTITIONS = 3
OFFSETS = 2
PRODUCER_IDS = 2
MORE_PRODUCER_IDS = 4
LOG = 8
MESSAGES = 8
TXNS = 3
OPS = 6
LINES = OPS + 1
CACHED = 3
READERS = 2
LABELS = CLIENTS * TXNS
APPENDS = 3
