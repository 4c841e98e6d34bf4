"""``name=value, name=value`` as Scala and Java print records: values may hold brackets with commas inside."""

import re
from dataclasses import dataclass

from zombieproof.formats.faults import Undecodable

FIELD = re.compile(r"(?P<name>[A-Za-z]\w*)=(?P<value>(?:[^,()\[\]]|\([^()]*\)|\[[^\[\]]*\])*)(?:, |$)")


@dataclass(frozen=True, slots=True)
class ScalaFields:
    """The fields of one printed record."""

    values: dict[str, str]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str:
        """The value of a field as printed.

        Raises:
            Undecodable: the record has no such field.
        """
        if name not in self.values:
            raise Undecodable(f"{name} is missing")
        return self.values[name]

    def number(self, name: str) -> int:
        """The value of a field that is a number.

        Raises:
            Undecodable: the record has no such field, or it is no number.
        """
        value = self.text(name)
        if len(value) > 20 or not value.removeprefix("-").isdecimal():
            raise Undecodable(f"{name} is {value!r} where a number is expected")
        return int(value)


def fields_of(text: str) -> ScalaFields:
    """The fields of what stands between the outer brackets of a printed record.

    Raises:
        Undecodable: the text is something else, or cut.
    """
    values = {}
    at = 0
    while at < len(text):
        found = FIELD.match(text, at)
        if found is None:
            raise Undecodable(f"{text[at : at + 40]!r} is no field")
        values[found["name"]] = found["value"]
        at = found.end()
    return ScalaFields(values)
