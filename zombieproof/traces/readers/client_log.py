"""Debug logs of producer clients: librdkafka with ``debug=eos``, and the Java client's ``TransactionManager``.

Only what a judge can use is kept: the client's state, its producer id and epoch, what the application asked and was
told.
"""

import re
from collections.abc import Callable

from zombieproof.formats.faults import Undecodable
from zombieproof.model.vocabulary import NONE
from zombieproof.traces.evidence import ClientFact, ClientLine, Damage, Unit
from zombieproof.traces.readers.lines import Lines, Reached
from zombieproof.traces.readers.timestamps import timestamp_ms

RDKAFKA = re.compile(
    r"(?:%\d\|(?P<seconds>\d{1,12})\.(?P<millis>\d{3})\|(?P<facility>[A-Z]+)\|(?P<client>[^|]*)\|"
    r"|(?P<facility_2>[A-Z]+) \[(?P<client_2>[^\]]+#producer-\d+)\]) (?:\[thrd:[^\]]*\]: )?(?P<text>.*)",
    re.ASCII,
)
JAVA = re.compile(
    r"\[Producer clientId=(?P<client>[^,\]]*)(?:, transactionalId=(?P<id>[^\]]*))?\] (?P<text>.*?)"
    r"(?: \([\w.$]*TransactionManager\))?\s*\Z"
)

PRODUCER_ID = re.compile(r"PID\{Id:(?P<id>\d{1,19}),Epoch:(?P<epoch>\d{1,5})\}", re.ASCII)
STATE_CHANGE = re.compile(r"Transaction state change (?P<before>\w+) -> (?P<after>\w+)")
API_CALLED = re.compile(r"Transactional API called: (?P<call>\w+)")
API_RETURN = re.compile(r"Transactional API (?P<call>\w+) return at \w+:\d+: (?P<result>.*)")
ERRORS = ("TXNERR", "FATAL")
BEGINNINGS = ("Transaction state change", "Transition from state", "ProducerId set to", "Transiting to")

TRANSITION = re.compile(r"Transition from state (?P<before>\w+) to (?:error state )?(?P<after>\w+).*")
ID_SET = re.compile(r"ProducerId set to (?P<id>-?\d{1,19}) with epoch (?P<epoch>-?\d{1,5}).*", re.ASCII)
END_TXN = re.compile(
    r"Enqueuing transactional request .*EndTxnRequest.*producerId=(?P<id>\d{1,19}), producerEpoch=(?P<epoch>\d{1,5}), "
    r"(?:committed=(?P<committed>true|false)|result=(?P<result>COMMIT|ABORT)).*",
    re.ASCII,
)
TO_ERROR = re.compile(r"Transiting to (?P<kind>fatal|abortable) error state due to (?P<reason>.*)")

CALLS = {
    "init_transactions": "init",
    "begin_transaction": "begin",
    "commit_transaction": "commit",
    "abort_transaction": "abort",
    "send_offsets_to_transaction": "offsets",
}

Told = tuple[ClientFact, str, str, int, int]
"""fact, before, after, producer id, epoch."""


def _rdkafka(facility: str, text: str) -> Told | None:
    if found := STATE_CHANGE.fullmatch(text):
        return ClientFact.STATE, found["before"], found["after"], NONE, NONE
    if text.startswith("Acquired ") and (found := PRODUCER_ID.search(text)):
        return ClientFact.IDENTITY, "", "", int(found["id"]), int(found["epoch"])
    if found := API_CALLED.match(text):
        return ClientFact.ASKED, "", CALLS.get(found["call"], found["call"]), NONE, NONE
    if found := API_RETURN.fullmatch(text):
        result = "ok" if found["result"].startswith("Success") else found["result"]
        return ClientFact.TOLD, result, CALLS.get(found["call"], found["call"]), NONE, NONE
    if facility in ERRORS:
        return ClientFact.ERROR, "", text, NONE, NONE
    _check_whole(text)
    return None


def _java(text: str) -> Told | None:
    if found := TRANSITION.fullmatch(text):
        return ClientFact.STATE, found["before"], found["after"], NONE, NONE
    if found := ID_SET.fullmatch(text):
        return ClientFact.IDENTITY, "", "", int(found["id"]), int(found["epoch"])
    if found := END_TXN.fullmatch(text):
        commits = found["committed"] == "true" or found["result"] == "COMMIT"
        return ClientFact.ASKED, "", "commit" if commits else "abort", int(found["id"]), int(found["epoch"])
    if found := TO_ERROR.fullmatch(text):
        return ClientFact.ERROR, found["kind"], found["reason"], NONE, NONE
    _check_whole(text)
    return None


def _check_whole(text: str) -> None:
    if text.startswith(BEGINNINGS):
        raise Undecodable(f"the line is cut: {text!r}")


def read_rdkafka_line(line: str, number: int, file: str) -> ClientLine | None:
    """What a line of librdkafka tells; None for any other line.

    Raises:
        Undecodable: it begins like one that tells something, and is cut.
    """
    found = RDKAFKA.search(line) if "#producer-" in line else None
    parsed = _rdkafka(found["facility"] or found["facility_2"], found["text"].rstrip()) if found else None
    if found is None or parsed is None:
        return None
    moment = int(found["seconds"]) * 1000 + int(found["millis"]) if found["seconds"] else timestamp_ms(line)
    fact, before, after, producer_id, epoch = parsed
    client = found["client"] or found["client_2"]
    return ClientLine(file, number, moment, client, None, fact, before, after, producer_id, epoch)


def read_java_line(line: str, number: int, file: str) -> ClientLine | None:
    """What a line of the Java client's TransactionManager tells; None for any other line.

    Raises:
        Undecodable: it begins like one that tells something, and is cut.
    """
    found = JAVA.search(line) if "[Producer clientId=" in line else None
    parsed = _java(found["text"]) if found else None
    if found is None or parsed is None:
        return None
    fact, before, after, producer_id, epoch = parsed
    return ClientLine(
        file, number, timestamp_ms(line), found["client"], found["id"], fact, before, after, producer_id, epoch
    )


READERS: tuple[Callable[[str, int, str], ClientLine | None], ...] = (read_rdkafka_line, read_java_line)


def read_client_log(
    data: memoryview, file: str, reached: Reached | None = None
) -> tuple[list[ClientLine], list[Damage]]:
    """All that a client's log tells, and the lines that are cut."""
    parsed: list[ClientLine] = []
    damage: list[Damage] = []
    lines = Lines(data, reached)
    for line in lines:
        try:
            parsed += (found for reader in READERS if (found := reader(line, lines.number, file)))
        except Undecodable as fault:
            damage.append(Damage(file, lines.number, str(fault), Unit.LINE))
    return parsed, damage
