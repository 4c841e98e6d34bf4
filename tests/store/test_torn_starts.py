"""A first start that is cut short in the middle of a write leaves nothing that the next one takes for another's."""

from contextlib import suppress

import pytest

from tests.store.workloads import open_on
from zombieproof.broker.store.fault_disk import Fate, Fault, FaultDisk, Plan, PowerLost


@pytest.mark.slow
@pytest.mark.parametrize("torn_at", [1, 12, 25])
def test_a_start_that_is_torn_at_any_write_is_repeated(torn_at: int) -> None:
    whole = FaultDisk()
    open_on(whole).abandon()
    assert any("partition.metadata" in operation for operation in whole.log)
    for number in range(1, whole.operations + 1):
        disk = FaultDisk(Plan(number, Fault.TEAR, torn_at))
        with suppress(PowerLost):
            open_on(disk)
        open_on(disk.survivor(Fate.KEPT)).abandon()
