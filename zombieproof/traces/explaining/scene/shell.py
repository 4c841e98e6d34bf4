"""Names as arguments of a command that people copy into a shell: whatever they hold, they stay one argument."""

import shlex


def quoted(name: str | None) -> str:
    """A name as one word of a POSIX shell; control characters, which a terminal would act on, in the form of bash."""
    text = name or ""
    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    return character if character.isprintable() else character.encode("unicode_escape").decode()
