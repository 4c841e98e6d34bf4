"""`python -m tests.pipeline.java_client`: have Kafka's Java client list its settings and read JAAS texts.

Needs Java 17 and Maven, which gets Kafka's jars. `java_client.json` holds the names of all settings, and each text with
its class, flag and options, or with null where Kafka refuses it.
"""

import base64
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.wire_brokers import KafkaJars

HERE = Path(__file__).parent
WRITTEN = HERE / "java_client.json"
PIECES = (
    *(" ", "\n", "\t", ";", "=", '"', "'", "\\", "/", "//", "/* */", ",", "-", ".", "_", "$", "{", "#", "\r\n"),
    *("required", "REQUISITE", "optional", "Sufficient", "a", "b.C", "org.apache.kafka.PlainLoginModule"),
    *("username", "password", "true", "1", "12a", "a1", "-1", "-a", "a-b", ".5", "ä", "\x80", "€", "𝕜"),
    *(r"\n", r"\t", r"\"", r"\\", r"\101", r"\7", r"\418", r"\400", r"\377", r"\x", r"\'"),
)
CHOSEN = (
    "",
    "a.B",
    "a.B required",
    "a.B required;",
    "a.B REQUIRED\n;",
    'a.B required user="u" password="p";',
    "a.B required user='u' password=p;",
    'a.B required user="u" password="p"',
    'a.B required user="u" password="p"; c.D required;',
    'a.B required user="u" user="v";',
    'a.B required // comment\n x="1"; // more',
    'a.B required /* many\nlines */ x="1";',
    "a.B required x=/etc/keytab;",
    'a.B required / comment\n x="1"; / more',
    'a.B required x="1" / y="2";',
    'a.B required x\x80="1";',
    'a.B required x\x9f="1";',
    'a.B required x\xa0="1";',
    'a.B required x="/etc/keytab";',
    "a.B required x=1;",
    "a.B required x=true y=a-b;",
    r'a.B required x="a\"b\\c\n\101\400";',
    'a.B required x="a\nb";',
    'a.B required x="a b=c;d";',
    "a.B required x='it\\'s';",
    'a.B nonsense x="1";',
    '"a.B" \'required\' "x"="1";',
    'a.B required x "1";',
    'a.B required ="1";',
    "a.B required x=;",
    'a.B required x="";',
    'a.B required x="€ä𝕜";',
    'a.B \\\n required x="1";',
)


def texts(number: int = 400) -> Iterator[str]:
    """Yield texts by hand, and drawn ones, most of which are nearly well formed."""
    yield from CHOSEN
    drawn = random.Random(43)
    for _ in range(number):
        quoted = [f'"{"".join(drawn.choices(PIECES[1:], k=drawn.randrange(4)))}"' for _ in range(2)]
        options = [f"o{n}={value}" for n, value in enumerate(quoted)]
        parts = ["a.B", " ", "required", " ", options[0], " ", options[1], ";"]
        for _ in range(drawn.randrange(3)):
            parts.insert(drawn.randrange(len(parts) + 1), drawn.choice(PIECES))
        yield "".join(parts)


def ask(all_texts: list[str]) -> tuple[list[str], list[list[object] | None]]:
    """Return the names of its settings, and the content of each text, or None."""
    lines = "".join(base64.b64encode(text.encode()).decode() + "\n" for text in all_texts)
    java = ("java", "-cp", KafkaJars().find(), str(HERE / "JavaClient.java"))
    names, *printed = subprocess.run(java, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    found: list[list[object] | None] = []
    for line in printed:
        if line == "refused":
            found.append(None)
            continue
        name, flag, *options = (base64.b64decode(field[:-1]).decode() for field in line.split(" "))
        found.append([name, flag.rpartition(" ")[2], dict(zip(options[::2], options[1::2], strict=True))])
    assert len(found) == len(all_texts)
    return names.split(), found


if __name__ == "__main__":
    asked = list(texts())
    names, answers = ask(asked)
    rows = ",\n".join(json.dumps(row) for row in zip(asked, answers, strict=True))
    WRITTEN.write_text(f'{{"settings": {json.dumps(names)},\n"jaas": [\n{rows}\n]}}\n', encoding="utf-8")
    sys.stdout.write(f"{len(names)} settings; {len(asked)} texts, of which {answers.count(None)} are refused\n")
