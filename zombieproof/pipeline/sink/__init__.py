"""A delivery of rows, run over a real client: no word of Spark, and no decision that is not the machine's."""

from zombieproof.pipeline.sink.delivering import Delivering as Delivering
from zombieproof.pipeline.sink.delivering import deliver as deliver
from zombieproof.pipeline.sink.delivering import resolve as resolve
from zombieproof.pipeline.sink.errors import DeliveryError as DeliveryError
from zombieproof.pipeline.sink.rows import Identity as Identity
from zombieproof.pipeline.sink.rows import Outcome as Outcome
from zombieproof.pipeline.sink.rows import Row as Row
from zombieproof.pipeline.sink.rows import Source as Source
