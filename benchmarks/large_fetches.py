"""How long other clients wait while many large fetches are answered: `python benchmarks/large_fetches.py [--data]`.

Starts `zombieproof serve` as it is shipped, fills one partition, and lets twenty connections fetch 50 MB each,
again and again. Another client asks for metadata meanwhile. Prints the slowest of its calls, and how much memory the
broker took. `--record-bytes 1000` fills the log with small batches instead of large ones.
"""

import argparse
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from confluent_kafka import Producer

FETCHERS, FETCH_BYTES, FILL_BYTES = 20, 50 << 20, 54 << 20
TOPIC = "large"


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", action="store_true", help="serve a data directory (default: memory)")
    parser.add_argument("--record-bytes", type=int, default=900_000, help="size of a record; each is a batch (900000)")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to fetch (20)")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = ["--data", f"{folder}/data", "--durability", "page-cache"] if given.data else []
        command = [str(Path(sys.executable).with_name("zombieproof")), "serve", "--port", str(given.port)]
        topics = ["--topic", f"{TOPIC}=1", "--topic", "small=1"]
        with subprocess.Popen([*command, *topics, *data], stdout=subprocess.PIPE, text=True) as broker:
            try:
                assert broker.stdout is not None
                port = int(broker.stdout.readline().rpartition(":")[2])
                measure(broker.pid, port, given)
            finally:
                broker.terminate()


def measure(pid: int, port: int, given: argparse.Namespace) -> None:
    """Fill the log, fetch it from many connections, and time another client."""
    producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}", "linger.ms": 0, "batch.num.messages": 1})
    value = os.urandom(given.record_bytes)
    for _ in range(FILL_BYTES // given.record_bytes):
        while True:
            try:
                producer.produce(TOPIC, value)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush(120)
    before, until = memory_mb(pid), time.monotonic() + given.seconds
    with ProcessPoolExecutor(1) as others:
        fetching = others.submit(fetch_all, port, until)
        calls = sorted(metadata(port, until))
        fetched = fetching.result()
    mb = sum(fetched) >> 20
    print(f"{len(fetched)} responses, {mb} MB, {mb / given.seconds:.0f} MB/s to {FETCHERS} connections")
    print(
        f"another client: {len(calls)} calls, median {calls[len(calls) // 2] * 1000:.0f} ms, "
        f"99 % {calls[len(calls) * 99 // 100] * 1000:.0f} ms, slowest {calls[-1] * 1000:.0f} ms"
    )
    print(f"memory of the broker: {before} MB before, at most {peak_mb(pid)} MB")


def fetch_all(port: int, until: float) -> list[int]:
    """The sizes of all responses; in a process of its own, so that the other client need not wait for it."""
    fetched: list[int] = []
    fetchers = [threading.Thread(target=fetch, args=(port, until, fetched)) for _ in range(FETCHERS)]
    for each in fetchers:
        each.start()
    for each in fetchers:
        each.join()
    return fetched


def fetch(port: int, until: float, fetched: list[int]) -> None:
    """Fetch from the beginning, and read all of it."""
    name = TOPIC.encode()
    partition = struct.pack(">iqi", 0, 0, FETCH_BYTES)
    topics = struct.pack(">ih", 1, len(name)) + name + struct.pack(">i", 1) + partition
    request = struct.pack(">hhih4siiiib", 1, 4, 1, 4, b"many", -1, 100, 1, FETCH_BYTES, 0) + topics
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        while time.monotonic() < until:
            connection.sendall(struct.pack(">i", len(request)) + request)
            size = left = struct.unpack(">i", received(connection, 4))[0]
            while left:
                left -= len(connection.recv(min(left, 1 << 20)))
            fetched.append(size)


def metadata(port: int, until: float) -> list[float]:
    """How long (s) each Metadata takes, on a connection of its own."""
    request, found = struct.pack(">ihhihi", 14, 3, 1, 1, 0, 0), []
    while time.monotonic() < until:
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.sendall(request)
            received(connection, struct.unpack(">i", received(connection, 4))[0])
        found.append(time.monotonic() - began)
        time.sleep(0.01)
    return found


def received(connection: socket.socket, size: int) -> bytes:
    """So many bytes."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the broker closed the connection")
        data += part
    return data


def memory_mb(pid: int, name: str = "VmRSS") -> int:
    """How much memory a process has (MB)."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) // 1024


def peak_mb(pid: int) -> int:
    """How much it had at most (MB)."""
    return memory_mb(pid, "VmHWM")


if __name__ == "__main__":
    main()
