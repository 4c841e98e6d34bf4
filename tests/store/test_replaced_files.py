"""Folders and files that others have replaced, and batches that are gone: noticed, repaired, the loss announced."""

import errno
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from random import Random

import crc32c
import pytest

from tests.store import damages
from tests.store.clients import COMPACTED, NoAnswer, Notebook
from tests.store.crashing import LATER_MS
from tests.store.damages import (
    D0,
    FORGOTTEN,
    T0,
    T1,
    Base,
    RoutedClient,
    boundaries,
    differences,
    exchange_snapshots,
    files_of,
    noticing,
    open_on,
    read,
)
from zombieproof.broker.cluster.clock import ManualClock
from zombieproof.broker.data_directory import DataDirectoryError
from zombieproof.broker.inspection import inspect
from zombieproof.broker.partition.log import Damaged
from zombieproof.broker.repairing import Repairs
from zombieproof.broker.store.cluster_file import COPY, FILE, read_cluster
from zombieproof.broker.store.fault_disk import Fate, FaultDisk
from zombieproof.broker.store.findings import NOTHING
from zombieproof.broker.store.known_logs import SEGMENTS, SNAPSHOT
from zombieproof.broker.store.leader_epochs import LEADER_EPOCHS
from zombieproof.formats.identity import TOPIC_IDENTITY
from zombieproof.model.vocabulary import Error

CHECKPOINTS = ("log-state-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint")


def put(disk: FaultDisk, path: str, data: bytes) -> None:
    """Let a file have this content."""
    disk.make_directory(path.rpartition("/")[0])
    disk.truncate(path, 0)
    disk.write(path, 0, data)


def put_folder(disk: FaultDisk, folder: str, source: FaultDisk, other: str, *, but: str = "") -> None:
    """Let a folder have the files of another one, but for one of its own."""
    files = {path: source.read(path) for path in files_of(source) if path.startswith(f"{other}/")}
    kept = disk.read(f"{folder}/{but}") if but else b""
    disk.remove(folder)
    for path, data in files.items():
        put(disk, folder + path[len(other) :], data)
    if but:
        put(disk, f"{folder}/{but}", kept)


def served_as_before(disk: FaultDisk, of: Base, reported: str = "") -> list[str]:
    """Open a directory that must serve all that it did; returned are the reports, `reported` are those before."""
    with noticing() as lines:
        embedded = open_on(disk, of.nodes)
        found = read(embedded)
        embedded.abandon()
    assert (differences(of.reading, found, " ".join([reported, *lines])), found.offline) == ([], set())
    return lines


def images_of(disk: FaultDisk, act: Callable[[], object], step: int) -> list[FaultDisk]:
    """What crashes leave behind, at every `step`th operation."""
    images = list[FaultDisk]()

    def before() -> None:
        if disk.operations % step == 0:
            images.append(disk.copy())

    disk.before = before
    act()
    disk.before = None
    return images


def older_folder(disk: FaultDisk, of: Base) -> None:
    """An older copy of the whole folder of a broker."""
    put_folder(disk, "broker-1", of.older, "broker-1")


def older_checkpoints(disk: FaultDisk, of: Base) -> None:
    """Older copies of its checkpoints, which say that no records were deleted."""
    for name in CHECKPOINTS:
        put(disk, f"broker-1/{name}", of.older.read(f"broker-1/{name}"))


@pytest.mark.parametrize("replace", [older_folder, older_checkpoints])
@pytest.mark.parametrize("is_clean", [True, False])
def test_an_older_copy_of_the_folder_of_a_broker_is_noticed(
    is_clean: bool, replace: Callable[[FaultDisk, Base], None]
) -> None:
    """It is in sync as far as ``cluster.json`` knows: as the leader it would have the others cut their logs."""
    of = damages.base(3, is_clean)
    disk = of.disk.copy()
    replace(disk, of)
    lines = served_as_before(disk, of)
    assert any("an older copy" in each and "fetched again from broker" in each for each in lines)


def test_a_replica_that_an_older_copy_has_made_shorter_does_not_lead() -> None:
    """The copy was made since the last start, and put back after a kill: the longest log leads, which loses nothing."""
    disk, clock = damages.base(3, is_clean=True).disk.copy(), ManualClock()
    embedded = open_on(disk, 3, clock)
    client = RoutedClient(embedded, Notebook(), "client", "id")
    client.init()

    def work(name: str) -> None:
        client.begin(name)
        client.send(T0, f"{name} 0")
        client.send(T1, f"{name} 1")
        client.end(committed=True)
        clock.advance(2_000)
        while embedded.pump():
            pass

    work("before")
    older = disk.copy()
    work("after")
    killed = disk.copy()
    killed.close()
    again = open_on(killed.copy(), 3)
    of = Base(3, False, killed, older, read(again))
    again.abandon()
    for node in (1, 2, 3):
        replaced = killed.copy()
        put_folder(replaced, f"broker-{node}", older, f"broker-{node}")
        served_as_before(replaced, of)


def test_the_only_copy_is_served_once_a_repair_has_said_what_it_lacks() -> None:
    """There is no other replica: the start is refused, and the repair continues with the older copy."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    older_folder(disk, of)
    with pytest.raises(Damaged, match=r"broker-1: it is an older copy: of generation \d+, and \d+ is the last one"):
        open_on(disk, 1)
    (done,) = Repairs(disk, "repaired").apply()
    assert done.loses == "all that was written, committed or deleted since then in 10 partitions"
    open_on(disk, 1).close()
    assert not inspect(disk).refused


@pytest.mark.slow
def test_an_interrupted_start_with_an_older_copy_notices_it_again() -> None:
    """The folder counts as current only when its replicas are in sync no more."""
    of = damages.base(3, is_clean=True)
    disk = of.disk.copy()
    older_folder(disk, of)
    disk = disk.copy()
    with noticing() as lines:
        images = images_of(disk, lambda: open_on(disk, 3).abandon(), 40)
    assert len(images) > 3
    for image in images:
        served_as_before(image, of, " ".join(lines))


def test_an_interrupted_repair_of_an_older_copy_is_run_again() -> None:
    """The logs that are not moved away yet are still known as older ones."""
    of = damages.base(3, is_clean=True)
    disk = of.disk.copy()
    older_folder(disk, of)
    disk = disk.copy()
    for image in images_of(disk, lambda: Repairs(disk, "repaired").apply(), 60):
        Repairs(image, "again").apply()
        served_as_before(image, of, FORGOTTEN)


def test_a_restart_makes_no_older_copy() -> None:
    """The generation is raised at each start and each stop, at whatever operation these are interrupted."""
    disk = damages.base(3, is_clean=True).disk.copy()
    for image in images_of(disk, lambda: open_on(disk, 3).close(), 7):
        assert not [each for each in inspect(image).refused if "older copy" in each.fault]


def test_no_start_believes_the_snapshots_of_another_log_wherever_the_one_before_it_has_crashed() -> None:
    """A start after a kill writes snapshots: no crash leaves one that is believed without a record."""
    of = damages.base(1, is_clean=False)
    disk, survivors = of.disk.copy(), list[FaultDisk]()

    def look() -> None:
        done, _, path = disk.log[-1].partition(" ") if disk.log else ("", "", "")
        if done in ("sync", "rename") and (path.endswith(SNAPSHOT) or SEGMENTS in path):
            fate = list(Fate)[len(survivors) % len(Fate)]
            survivors.append(disk.survivor(fate, Random(len(survivors))))

    disk.before = look
    open_on(disk, 1).abandon()
    disk.before = None
    for number, survivor in enumerate([*survivors, disk.copy()]):
        if number % 4 == 0:
            assert served_as_before(survivor.copy(), of) == []
        changed = exchange_snapshots(survivor)
        with noticing() as lines:
            embedded = open_on(survivor, 1)
            found = read(embedded)
            embedded.abandon()
        assert differences(of.reading, found) == [], (number, lines)
        # The first records of one log were deleted: no batch tells of their producers.
        assert found.offline == ({D0} if any("the producers from before" in each for each in lines) else set())
    assert [path for path in changed if path not in "".join(lines)] == [], "the start has recorded all that it wrote"


@pytest.mark.parametrize("but", ["", TOPIC_IDENTITY])
def test_another_topic_in_the_folder_of_one_replica_is_not_served(but: str) -> None:
    """Its leader epochs may be higher: the log that is not of this topic leads nobody."""
    of = damages.base(3, is_clean=True)
    disk = of.disk.copy()
    node = of.disk.copy()
    put_folder(disk, "broker-2/d-0", node, "broker-2/__transaction_state-0", but=but)
    lines = served_as_before(disk, of)
    assert any("d-0 at broker 2" in each and "fetched again" in each for each in lines)


def test_another_topic_in_the_folder_of_the_only_replica_is_refused_with_both_losses() -> None:
    """The files are another's, with the identity of this one: the segment checkpoint tells."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    put_folder(disk, "broker-1/d-0", of.disk.copy(), "broker-1/t-1", but=TOPIC_IDENTITY)
    with pytest.raises(Damaged, match="the files in it are of partition 1 of the topic with the id"):
        open_on(disk, 1)
    done = next(each for each in Repairs(disk, "repaired").apply() if each.finding.partition == D0)
    assert "and the records of d-0 at the offsets" in done.loses
    open_on(disk, 1).close()


@pytest.mark.parametrize("nodes", [1, 3])
def test_the_indexes_of_a_compacted_log_are_rebuilt(nodes: int) -> None:
    """Where the first batches of a leader epoch were compacted, no batch contradicts the leader epochs."""
    of = damages.base(nodes, is_clean=True)
    disk = of.disk.copy()
    for path in files_of(disk):
        if path.endswith(".index"):
            disk.remove(path)
    assert all("rebuilt" in each for each in served_as_before(disk, of))


def test_a_missing_record_of_the_segments_is_reported() -> None:
    """Without it, no start can tell whether a compacted log is whole."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    disk.remove(f"broker-1/{COMPACTED}-0/{SEGMENTS}")
    (line,) = served_as_before(disk, of)
    assert "it is missing (every batch is read instead, and the topic is compacted: missing batches would not" in line


@pytest.mark.parametrize("missing", [(1,), (1, 2), (1, 2, 3)])
def test_a_compacted_log_without_its_record_is_fetched_again_from_one_that_has_it(missing: tuple[int, ...]) -> None:
    """Batches are missing where none would be missed; where no replica has its record, all are believed."""
    of = damages.base(3, is_clean=True)
    disk = of.disk.copy()
    for node in missing:
        disk.remove(f"broker-{node}/{COMPACTED}-0/{SEGMENTS}")
    if len(missing) < 3:
        path, batches = first_segment(disk, f"broker-1/{COMPACTED}-0")
        put(disk, path, b"".join(batches[:2]))
        disk.remove(path.removesuffix(".log") + ".index")
    lines = served_as_before(disk, of)
    fetched = sum("fetched again" in each for each in lines)
    assert fetched == (len(missing) if len(missing) < 3 else 0)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_one_repair_begins_all_missing_logs_again(is_recorded: bool) -> None:
    """Also in a directory of an earlier version, which has Kafka's checkpoints only."""
    disk = damages.base(1, is_clean=True).disk.copy()
    if not is_recorded:
        disk.remove("broker-1/log-state-checkpoint")
    for folder in ("t-0", "t-1", "d-0"):
        disk.remove(f"broker-1/{folder}")
    assert len(Repairs(disk, "repaired").apply()) == 3
    assert not inspect(disk).refused
    embedded = open_on(disk, 1)
    assert all(embedded.cluster.stores[1, each].log.end_offset > 0 for each in (T0, T1, D0))
    embedded.abandon()


def first_segment(disk: FaultDisk, folder: str) -> tuple[str, list[bytes]]:
    """The first segment of a log with several batches, and these."""
    for path in files_of(disk):
        data = disk.read(path)
        if path.startswith(f"{folder}/") and path.endswith(".log") and len(ends := [*boundaries(data), len(data)]) > 4:
            return path, [data[start:end] for start, end in pairwise(ends)]
    raise AssertionError(folder)


def taken_out(batches: list[bytes]) -> list[bytes]:
    """Without the third batch."""
    return batches[:2] + batches[3:]


def exchanged(batches: list[bytes]) -> list[bytes]:
    """With the third and the fourth batch exchanged."""
    return [*batches[:2], batches[3], batches[2], *batches[4:]]


@pytest.mark.parametrize("change", [taken_out, exchanged])
@pytest.mark.parametrize("folder", ["broker-1/t-0", f"broker-1/{COMPACTED}-0"])
def test_a_repair_says_which_offsets_are_lost(folder: str, change: Callable[[list[bytes]], list[bytes]]) -> None:
    """Also where all bytes that are there can be read."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    path, batches = first_segment(disk, folder)
    put(disk, path, b"".join(change(batches)))
    (each,) = {one.loses for one in Repairs(disk, "repaired").apply()}
    embedded = open_on(disk, 1)
    now, name = read(embedded), folder.partition("/")[2] + " at 1"
    embedded.abandon()
    was, left = of.reading.parts[name], now.parts[name]
    assert isinstance(was, list)
    assert isinstance(left, list)
    gone = {row[0] for row in was[7]} - {row[0] for row in left[7]}
    said = {int(word) for word in each.partition(": ")[2].partition(" (")[0].replace(" to ", ", ").split(", ")}
    assert gone
    assert all(min(said) <= offset <= max(said) for offset in gone), (gone, each)


def test_a_batch_whose_records_cannot_be_read_is_left_out_by_a_repair() -> None:
    """Its checksum is right: it was damaged before it was computed."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    path, batches = first_segment(disk, "broker-1/t-0")
    bad = bytearray(batches[2])
    bad[61] ^= 8  # the length of the first record
    struct.pack_into(">I", bad, 17, crc32c.crc32c(bytes(bad[21:])))
    put(disk, path, b"".join([*batches[:2], bytes(bad), *batches[3:]]))
    (done,) = Repairs(disk, "repaired").apply()
    assert done.loses not in (NOTHING, "nothing that can be read")
    assert not inspect(disk, reads_all=True).refused
    embedded = open_on(disk, 1)
    assert not read(embedded).offline
    embedded.abandon()


def test_a_log_whose_folder_vanishes_while_it_is_served_does_not_begin_again_as_an_empty_one() -> None:
    """The next write fails; when the disk takes writes again, nothing of the log is there."""
    of = damages.base(1, is_clean=True)
    disk, clock = of.disk.copy(), ManualClock(LATER_MS)
    with noticing() as lines:
        embedded = open_on(disk, 1, clock)
        client = RoutedClient(embedded, Notebook(), "client")
        client.init()
        disk.rename("broker-1/t-0", "broker-1/away")
        for number in range(3):
            with suppress(NoAnswer):
                assert client.send(T0, f"lost {number}") != Error.NONE
            clock.advance(2_000)
            while embedded.pump():
                pass
        assert client.send(T1, "served") == Error.NONE
        assert read(embedded).offline == {T0}
        embedded.close()
    assert any("t-0 is offline" in each and "the folder is missing" in each for each in lines)
    with pytest.raises(Damaged, match="t-0: the folder is missing, with the offsets 0 to"):
        open_on(disk, 1)
    disk.rename("broker-1/away", "broker-1/t-0")
    served = open_on(disk, 1)
    assert not read(served).offline
    served.abandon()


def test_a_folder_in_place_of_a_segment_of_states_is_moved_away() -> None:
    """The repair reads the other segments for the ids in them."""
    disk = damages.base(1, is_clean=True).disk.copy()
    path = next(each for each in files_of(disk) if "__transaction_state-0/" in each and each.endswith(".log"))
    disk.remove(path)
    disk.make_directory(path)
    assert Repairs(disk, "repaired").apply()
    assert not inspect(disk).refused
    open_on(disk, 1).close()


def test_a_rebuilt_cluster_keeps_compacted_topics_compacted() -> None:
    """Retention would delete the records of a topic of which the setting is lost."""
    of = damages.base(1, is_clean=True)
    disk = of.disk.copy()
    disk.remove(FILE)
    disk.remove(COPY)
    assert Repairs(disk, "repaired").apply()
    saved = read_cluster(disk).saved
    assert saved is not None
    assert saved.topics[COMPACTED].config == {"cleanup.policy": "compact"}
    assert saved.topics["t"].config == {}


UNREADABLE = ["00000000000000000000.log", "00000000000000000000.txnindex", LEADER_EPOCHS, SEGMENTS, TOPIC_IDENTITY]


def with_bad_sector(disk: FaultDisk, bad: str, monkeypatch: pytest.MonkeyPatch) -> FaultDisk:
    """Let reads of one file fail."""
    read_of_disk = disk.read

    def failing(path: str, at: int = 0, size: int | None = None) -> bytes:
        if path == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO), disk.name(path))
        return read_of_disk(path, at, size)

    monkeypatch.setattr(disk, "read", failing)
    return disk


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_the_disk_does_not_read_takes_one_partition_offline(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at a start; a repair moves the file away."""
    of = damages.base(1, is_clean=False)
    disk = with_bad_sector(of.disk.copy(), f"broker-1/t-0/{name}", monkeypatch)
    with noticing() as lines:
        embedded = open_on(disk, 1)
        found = read(embedded)
        embedded.abandon()
    assert (found.offline, differences(of.reading, found)) == ({T0}, [])
    assert any(f"t-0/{name}: it cannot be read: Input/output error" in each for each in lines)
    again = with_bad_sector(of.disk.copy(), f"broker-1/t-0/{name}", monkeypatch)
    done = Repairs(again, "repaired").apply()
    assert any("offsets: 0 to" in each.loses for each in done) == name.endswith(".log")
    monkeypatch.undo()  # the bad sector is that of the file that was moved away
    embedded = open_on(again, 1)
    assert not read(embedded).offline
    embedded.abandon()


@pytest.mark.parametrize("name", [*CHECKPOINTS, "meta.properties", "../cluster.json", "../cluster-copy.json"])
def test_a_file_of_a_broker_that_the_disk_does_not_read_is_rebuilt(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cluster.json` is restored from its copy by a repair."""
    of = damages.base(1, is_clean=True)
    path = name.removeprefix("../") if name.startswith("../") else f"broker-1/{name}"
    disk = with_bad_sector(of.disk.copy(), path, monkeypatch)
    if path == FILE:
        with pytest.raises(Damaged, match="it cannot be read: Input/output error"):
            open_on(disk, 1)
        assert [each.loses for each in Repairs(disk, "repaired").apply()] == [NOTHING]
        monkeypatch.undo()
    with noticing() as lines:
        embedded = open_on(disk, 1)
        found = read(embedded)
        embedded.abandon()
    assert (differences(of.reading, found), found.offline) == ([], set())
    assert path == FILE or any(path in each for each in lines)


def test_a_repair_that_begins_a_log_of_states_again_names_what_stays_open() -> None:
    """No state of the id is left that could end it."""
    disk = damages.base(1, is_clean=True).disk.copy()
    for number in (0, 1):
        disk.remove(f"broker-1/__transaction_state-{number}")
    done = Repairs(disk, "repaired").apply()
    assert all("stay open" in each.loses and "t-1" in each.loses for each in done), [each.loses for each in done]


# ---------------------------------------------------------------- two at once


def older_partition(disk: FaultDisk, of: Base, chance: Random) -> str:
    """An older copy of the folder of a partition."""
    folder = chance.choice(folders_of(of.older))
    put_folder(disk, folder, of.older, folder)
    return folder


def some_older_files(disk: FaultDisk, of: Base, chance: Random) -> str:
    """Older copies of some of its files."""
    folder = chance.choice(folders_of(of.older))
    for path in files_of(of.older):
        if path.startswith(f"{folder}/") and chance.random() < 0.5:
            put(disk, path, of.older.read(path))
    return folder


def exchanged_folders(disk: FaultDisk, of: Base, chance: Random) -> str:
    """The folders of two partitions are exchanged, with or without their identities."""
    one, other = chance.sample(folders_of(of.disk), 2)
    but = chance.choice(["", TOPIC_IDENTITY])
    put_folder(disk, one, of.disk, other, but=but)
    put_folder(disk, other, of.disk, one, but=but)
    return f"{one} {other} {but}"


def changed_batches(disk: FaultDisk, of: Base, chance: Random) -> str:
    """A batch is taken out of a segment, or exchanged with the next one, or is there twice."""
    path = chance.choice([each for each in files_of(of.disk) if each.endswith(".log") and of.disk.size(each)])
    ends = [*boundaries(data := of.disk.read(path)), len(data)]
    batches = [data[start:end] for start, end in pairwise(ends)]
    at = chance.randrange(len(batches))
    batches[at : at + 2] = chance.choice(
        [batches[at + 1 : at + 2], batches[at : at + 2][::-1], batches[at : at + 1] * 2]
    )
    put(disk, path, b"".join(batches))
    return f"{path} at {at}"


def one_kind_of_file(disk: FaultDisk, of: Base, chance: Random) -> str:
    """All files of a kind are gone."""
    kind = chance.choice([".index", ".timeindex", ".txnindex", ".snapshot", LEADER_EPOCHS, TOPIC_IDENTITY, SEGMENTS])
    for path in files_of(disk):
        if path.endswith(kind):
            disk.remove(path)
    return kind


def folders_of(disk: FaultDisk) -> list[str]:
    """The folders of partitions."""
    return sorted({path.rpartition("/")[0] for path in files_of(disk) if path.count("/") == 2})


DAMAGES = (older_partition, some_older_files, exchanged_folders, changed_batches, one_kind_of_file)


@pytest.mark.long(*(f"[{seed}]" for seed in range(4, 60)))
@pytest.mark.parametrize("seed", range(60))
def test_two_damages_at_once_end_no_server_and_are_repaired(seed: int) -> None:
    """Whatever they are: a start refuses or opens, the repair that it names helps, and clients go on."""
    chance = Random(seed)
    of = damages.base(chance.choice([1, 1, 3]), chance.choice([True, False]))
    disk = of.disk.copy()
    did = [(act.__name__, act(disk, of, chance)) for act in chance.choices(DAMAGES, k=2)]
    untouched = disk.copy()
    with noticing() as lines:
        try:
            embedded = open_on(disk, of.nodes)
        except (Damaged, DataDirectoryError) as error:
            lines.append(str(error))
        else:
            read(embedded)
            embedded.close()
        if any("rename the folder to" in each.finding.remedy for each in Repairs(untouched, "repaired").plan()[1]):
            return
        Repairs(untouched, "repaired").apply()
        again = open_on(untouched, of.nodes)
        assert not read(again).offline, (did, lines)
        again.close()
