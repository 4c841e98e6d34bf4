"""docs/evidence.md, *What can I paste?*: what to collect for which symptom, and all evidence that `replay` reads.

``python -m zombieproof.report.evidence_page`` writes it. Kinds, tools, clients, forms and layouts are those of the
readers' tables: one without an entry here fails a test.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zombieproof.report.evidence_samples import (
    DUMPS,
    FORMS,
    LAYOUTS,
    TOOLS,
    FormExample,
    lines_of,
    objects_of,
    printed_by_brokers,
    printed_by_clients,
)
from zombieproof.report.pages import Stale, stale_page, table, write_page
from zombieproof.traces.readers import layouts, tool_columns, wrappings
from zombieproof.traces.readers.clients.statement import Library
from zombieproof.traces.readers.recognise import Kind

COMMAND = "python -m zombieproof.report.evidence_page"

SYMPTOMS = (
    (
        "A `read_committed` consumer is stuck; its lag grows",
        "output of `kafka-transactions.sh find-hanging` and `describe-producers`, or the partition's snapshot or dump",
        "`zombieproof replay --open FILES`",
    ),
    (
        "Records are missing, or there twice",
        "a dump or the segments of the partition, and of `__transaction_state`; the application's own log of its calls",
        "`zombieproof replay FILES`",
    ),
    (
        "A producer is fenced, or its transaction was aborted",
        "the logs of all instances and of the brokers; a dump of `__transaction_state`",
        "`zombieproof replay FILES --timeline TRANSACTIONAL_ID`",
    ),
    (
        "You need to know which instance caused it",
        "the logs of all instances, in one folder",
        "`zombieproof replay FOLDER --timeline CLIENT_ID`",
    ),
    (
        "Transactions time out",
        "the logs of the brokers and of the application around that time",
        "`zombieproof replay FILES --timeline TRANSACTIONAL_ID --since TIME`",
    ),
    (
        "An application's outputs do not match its input",
        "dumps of input, output and `__consumer_offsets`; output of `kafka-consumer-groups.sh --describe`",
        "`zombieproof replay FILES --timeline GROUP`",
    ),
    (
        "Consumers read aborted records, or miss committed ones",
        "a [history](histories.md) of the requests, results and reads of clients",
        "`zombieproof history FILES`",
    ),
    (
        "`__transaction_state` or a data directory may be damaged",
        "the data directory of each broker, copied while the broker is stopped",
        "`zombieproof replay DIRECTORY`",
    ),
    (
        "A topic was deleted and created again",
        "the whole data directory of a broker, with `__cluster_metadata`",
        "`zombieproof replay DIRECTORY`",
    ),
    ("You do not know yet", "everything that you have, in one folder or archive", "`zombieproof replay FOLDER`"),
)


class Section(NamedTuple):
    """One kind of evidence: the kinds and tools that it covers, how to get it, a sample, and its limits."""

    title: str
    kinds: tuple[Kind, ...]
    commands: str
    sample: str
    shows: str
    hides: str
    tables: tuple[tool_columns.Table, ...] = ()


DUMP = "kafka-dump-log.sh --deep-iteration --print-data-log"
LOG = "00000000000000000000.log"
CONSOLE = "kafka-console-consumer.sh --bootstrap-server HOST:PORT --from-beginning"
TRANSACTIONS = "kafka-transactions.sh --bootstrap-server HOST:PORT"
OLD_OFFSETS = r"kafka.coordinator.group.GroupMetadataManager\$OffsetsMessageFormatter"
OLD_STATE = r"kafka.coordinator.transaction.TransactionLog\$TransactionLogMessageFormatter"

IN_DIRECTORY = {
    "00000000000000000000.log": Kind.SEGMENT,
    "00000000000000000010.snapshot": Kind.SNAPSHOT,
    "00000000000000000000.txnindex": Kind.TRANSACTION_INDEX,
    "leader-epoch-checkpoint": Kind.LEADER_EPOCHS,
    "partition.metadata": Kind.TOPIC_IDENTITY,
    "cleaner-offset-checkpoint": Kind.CLEANER_CHECKPOINT,
    "log-start-offset-checkpoint": Kind.LOG_START_CHECKPOINT,
    "recovery-point-offset-checkpoint": Kind.RECOVERY_CHECKPOINT,
    "meta.properties": Kind.DISK_IDENTITY,
    "__cluster_metadata-0/*.log": Kind.CLUSTER_METADATA,
    "cluster.json": Kind.CLUSTER_FILE,
}
MEANINGS = {
    Kind.SEGMENT: "records, with their batches",
    Kind.SNAPSHOT: "producers at that offset, and their open transactions",
    Kind.TRANSACTION_INDEX: "aborted transactions of the segment",
    Kind.LEADER_EPOCHS: "the first offset of each leader epoch",
    Kind.TOPIC_IDENTITY: "the topic's id",
    Kind.CLEANER_CHECKPOINT: "how far logs were compacted",
    Kind.LOG_START_CHECKPOINT: "where logs begin after records were deleted on request",
    Kind.RECOVERY_CHECKPOINT: "how far logs were synced",
    Kind.DISK_IDENTITY: "the cluster and the node",
    Kind.CLUSTER_METADATA: "when topics were created and deleted",
    Kind.CLUSTER_FILE: "the same, of `zombieproof serve`",
}


def _directory() -> str:
    return "\n".join(f"{name:<34}{MEANINGS[kind].replace('`', '')}" for name, kind in IN_DIRECTORY.items())


def sections() -> tuple[Section, ...]:
    """All sections, in the order of the page."""
    return (
        Section(
            "Data directories and segments",
            tuple(MEANINGS),
            "tar czf broker-1.tar.gz /var/lib/kafka/data",
            _directory(),
            "Everything that a broker stores. A single partition folder or segment works too, and so does what"
            " `zombieproof pack` wrote.",
            "The requests and results of applications: add their logs or a history.",
        ),
        Section(
            "Dumps of a partition",
            (Kind.DUMP,),
            f"{DUMP} --files orders-0/{LOG}",
            lines_of(f"{DUMPS}/t-0.txt", 4),
            "Batches, records, markers and the last stable offset. If the first line (`Dumping …`) is missing, the"
            " partition is taken from a file name such as `orders-0.txt`.",
            "Its own end:"
            " lines after the last one may be missing. Without `--print-data-log`, whether a marker commits or aborts."
            " If lines of several dumps are mixed, none of them is judged.",
        ),
        Section(
            "Dumps of the coordinators' topics",
            (Kind.DUMP,),
            f"{DUMP} --transaction-log-decoder --files __transaction_state-12/{LOG}\n"
            f"{DUMP} --offsets-decoder --files __consumer_offsets-3/{LOG}",
            lines_of(f"{DUMPS}/__transaction_state-1.txt", 4),
            "Each state of each transactional id with its epoch, timeout and partitions; each committed offset.",
            "Whether the markers were written: add the data partitions. Without the decoder option, it shows nothing.",
        ),
        Section(
            "Dumps of producer snapshots and transaction indexes",
            (Kind.DUMP,),
            "kafka-dump-log.sh --files orders-0/00000000000000000007.snapshot",
            lines_of(f"{TOOLS}/4.3.1/snapshot.txt", 2),
            "The open transactions of a partition at that offset, with their first offsets.",
            "Later events. A producer id is not yet a transactional id: add `__transaction_state`.",
        ),
        Section(
            "Console consumer of `__transaction_state`",
            (Kind.CONSOLE,),
            f"{CONSOLE} --topic __transaction_state \\\n    --formatter {OLD_STATE}   # up to 3.8\n"
            f"{CONSOLE} --topic __transaction_state \\\n"
            "    --formatter org.apache.kafka.tools.consumer.TransactionLogMessageFormatter   # since 3.9",
            f"{lines_of(f'{TOOLS}/3.0.2/console-transactions.txt', 1)}\n"
            f"{objects_of(f'{TOOLS}/4.3.1/console-transactions.txt', 1)}",
            "The latest state of each transactional id, and earlier ones that were not compacted.",
            "Offsets and partitions of the records, so lost records go unnoticed.",
        ),
        Section(
            "Console consumer of `__consumer_offsets`",
            (Kind.CONSOLE,),
            f"{CONSOLE} --topic __consumer_offsets \\\n    --formatter {OLD_OFFSETS}   # up to 3.8\n"
            f"{CONSOLE} --topic __consumer_offsets \\\n"
            "    --formatter org.apache.kafka.tools.consumer.OffsetsMessageFormatter   # since 3.9",
            f"{lines_of(f'{TOOLS}/3.5.2/console-OffsetsMessageFormatter.txt', 1)}\n"
            f"{objects_of(f'{TOOLS}/4.3.1/console-OffsetsMessageFormatter.txt', 1)}",
            "Committed offsets of groups.",
            "Whether a commit belongs to an open or aborted transaction. Add `--isolation-level read_committed`.",
        ),
        Section(
            "Tables of `kafka-transactions.sh`",
            (Kind.TOOL_OUTPUT,),
            f"{TRANSACTIONS} find-hanging --broker-id 1\n"
            f"{TRANSACTIONS} describe-producers --topic orders --partition 0\n"
            f"{TRANSACTIONS} list\n{TRANSACTIONS} describe --transactional-id orders-1",
            "\n\n".join(
                lines_of(f"{TOOLS}/4.3.1/{name}.txt", 2)
                for name in ("hanging", "producers-orders-0", "list", "describe")
            ),
            "Hanging and open transactions, their producers and first offsets; the report fills in the command that"
            " aborts one. `describe-producers` prints no partition: keep the command line above the table, or name the"
            " file after the partition.",
            "The past. A table is the answer of one broker at one moment.",
            (tool_columns.FIND_HANGING, tool_columns.DESCRIBE_PRODUCERS, tool_columns.LIST, tool_columns.DESCRIBE),
        ),
        Section(
            "Tables of `kafka-consumer-groups.sh`, lines of `kafka-get-offsets.sh`",
            (Kind.TOOL_OUTPUT,),
            "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --all-groups\n"
            "kafka-get-offsets.sh --bootstrap-server HOST:PORT",
            f"{lines_of(f'{TOOLS}/4.3.1/groups.txt', 2)}\n\n{lines_of(f'{TOOLS}/4.3.1/get-offsets.txt', 3)}",
            "Offsets and lag of groups, and the ends of partitions, which show whether a log was given in full."
            " Tables with `--members`, `--state` or `--reset-offsets` are named in the report; they hold no offsets.",
            "Which transaction committed an offset.",
            (
                *(tool_columns.GROUP_OFFSETS, tool_columns.GROUP_MEMBERS),
                *(tool_columns.GROUP_STATE, tool_columns.GROUP_RESET),
            ),
        ),
        Section(
            "Results of Java's Admin client",
            (Kind.TOOL_OUTPUT,),
            "System.out.println(admin.listTransactions().all().get());   // or describeTransactions, describeProducers",
            lines_of(f"{TOOLS}/4.3.1/admin.txt", 1),
            "The same as the tables of `kafka-transactions.sh`.",
            "The same.",
        ),
        Section(
            "Logs of brokers",
            (Kind.TEXT_LOG,),
            "kubectl logs kafka-0 | zombieproof replay -\nzombieproof replay /var/log/kafka/server.log",
            printed_by_brokers(),
            "At INFO, Kafka's default: producer ids, fencing, timeouts, failed appends, and which broker led when."
            " [All statements](log-statements.md) are on a page of their own. At DEBUG, each transition too.",
            "Records and markers. The levels WARN and above leave out most of it.",
        ),
        Section(
            "Logs of clients",
            (Kind.TEXT_LOG,),
            "kubectl logs deploy/shop --all-containers --prefix | zombieproof replay -",
            "\n".join(printed_by_clients().values()),
            "Which instance initialised which id, and each fencing, timeout and failure with its reason."
            f" Clients: {_libraries()}.",
            "The effect of a request that got no response.",
        ),
        Section(
            "Calls of applications",
            (Kind.CALLS,),
            "an object per line, `{t, client, action, args, result}`, written around a producer",
            lines_of("tests/recordings/01-commit/client.jsonl", 4),
            "Confirmed sends, commits and aborts. A confirmed commit that is not in the log is a violation.",
            "Other applications. Add the partitions that were written.",
        ),
    )


def _libraries() -> str:
    *names, last = Library
    return f"{', '.join(names)} and {last}"


def page() -> str:
    """The whole page as Markdown."""
    return "".join((_head(), *map(_section, sections()), _forms(), _layouts(), _unread()))


def _head() -> str:
    return f"""<!-- Generated by `{COMMAND}`. -->
# What can I paste?

`zombieproof replay` reads what you have: files, folders, archives (`.tar`, `.zip`) and compressed files (`.gz`, `.xz`,
`.bz2`), or standard input (`-`). Give everything of one cluster in one call. Prefixes, quoting and encoding do not
matter. Keep the names of Kafka's own files and folders. The report lists the formats that were read, and the lines
that were not used.

{table(("symptom", "what to collect", "command"), SYMPTOMS)}
Exit codes: 0 conforms, 1 violates, 2 wrong usage, 3 damaged or not enough evidence; then the report says what to fetch.
"""


def _section(section: Section) -> str:
    tools = ", ".join(f"`{each.tool.partition(',')[0]}`" for each in section.tables)
    read = f"\nTables: {tools}.\n" if tools else ""
    return f"""
## {section.title}

```text
{section.commands}
```

Sample:

```text
{section.sample}
```
{read}
- Shows: {section.shows}
- Does not show: {section.hides}
"""


def form_names() -> Iterator[str]:
    """The names of forms, those of the readers first."""
    fixed = (*wrappings.FIXED, wrappings.FENCES, wrappings.PROMPTS)
    yield from dict.fromkeys((*(form.name for form in fixed), *FORMS))


def _forms() -> str:
    rows = [(name, _example(FORMS[name])) for name in form_names()]
    line = printed_by_brokers().split("\n")[0]
    wrapped = f"> {FORMS['prefixes of docker compose'].around(line)}"
    return f"""
## Forms around the lines

These are removed, in any combination, and named under *read as*. `LINE` is a line of evidence.

{table(("form", "example"), rows)}
UTF-8 (also with a byte order mark), UTF-16 and UTF-32 are read. Lines that a terminal broke are joined, and a text with
its newest line first is turned round; *read as* says so. For example, a quoted paste of `docker compose logs`:

```text
{wrapped}
```
"""


def _example(form: FormExample) -> str:
    """A form in a cell of a table: as inline code, unless words describe it."""
    escaped = form.shown.replace("|", "\\|")
    if form.template:
        return escaped
    return f"`` {escaped} ``" if "`" in escaped else f"`{escaped}`"


def _layouts() -> str:
    lines = "\n".join(f"{LAYOUTS[name]}   <- {name.removeprefix('log layout, ')}" for name in layouts.LAYOUTS)
    return f"""
## Layouts of logs

Besides Kafka's own layout, with times that have an offset or none (then UTC):

```text
{lines}
```
"""


def _unread() -> str:
    return """
## What is not read

- Screenshots, PDF and spreadsheets: copy the text.
- Encrypted archives, and archives within archives that are more than four deep.
- Message formats 0 and 1 (before Kafka 0.11), which have no transactions: their records are counted.
- Logs of clients that are not listed above. Their lines are counted if they look like evidence.
"""


def write(path: Path) -> Path:
    """Write the page."""
    return write_page(path, page())


def check(path: Path) -> list[Stale]:
    """The page, if it is missing or not what the tables say; otherwise nothing."""
    return stale_page(path, page(), "the tables of the readers say", COMMAND)


if __name__ == "__main__":
    sys.stdout.write(f"wrote {write(Path('docs/evidence.md'))}\n")
