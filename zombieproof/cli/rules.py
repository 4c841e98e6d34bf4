"""zombieproof rules: list every rule, the rules of a release, and the differences between two."""

import json
from collections.abc import Sequence
from typing import Any

import click

from zombieproof.cli.usage import WrongUsage, known
from zombieproof.model.releases import UnknownRelease
from zombieproof.model.rules import PRESETS, Rules, SwitchFacts, preset, preset_for, switches
from zombieproof.report import rules_page
from zombieproof.report.exits import Exit
from zombieproof.report.pages import table
from zombieproof.report.rules_page import (
    LIMITS,
    Difference,
    differences,
    facts_by_name,
    in_releases,
    meaning_of,
    spoken,
)
from zombieproof.report.screen import Column, Screen, plural

HELP = """Show the protocol rules of a release, or the differences between two releases.

Without a name, list all presets and rules. PRESET is a release line (3.9, 0.11.0), a patch release (3.9.1), a cluster
at a lower transaction version (4.3-tv1, 4.3-tv0), newest, kip98 (0.11.0) or kip939.

\b
Examples:
  zombieproof rules                     all presets and all rules
  zombieproof rules 3.9.1
  zombieproof rules --diff 3.9 4.2
  zombieproof rules --diff 4.3-tv0 4.3 --json
  zombieproof rules --markdown          the page docs/rules.md
  zombieproof rules new NAME            add your own rule to a clone (see rules new --help)
"""

Rows = Sequence[tuple[str, ...]]


class _Rules(click.Command):
    """The command `rules`; the word `new` in place of a preset is a subcommand."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments of `rules` or of `rules new`."""
        if args[:1] != ["new"]:
            return super().make_context(info_name, args, parent, **extra)
        from zombieproof.cli.rules_new import new_command  # noqa: PLC0415  # few need it

        return new_command.make_context(f"{info_name} new", args[1:], parent, **extra)


@click.command("rules", cls=_Rules, help=HELP)
@click.argument("name", metavar="[PRESET]", default="", required=False, help="the release to show; default: list all")
@click.option(
    "--diff", metavar="PRESET PRESET", type=(str, str), help="show only the rules that differ between two presets"
)
@click.option("--markdown", is_flag=True, help="write Markdown")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def rules_command(name: str, diff: tuple[str, str] | None, markdown: bool, as_json: bool) -> int:
    """Run the command."""
    if name and diff:
        raise WrongUsage(
            f"{name} and --diff: give both presets after --diff, such as --diff 3.9 4.2, or one preset without it"
        )
    if markdown and as_json:
        raise WrongUsage("--markdown and --json: choose one format")
    screen = Screen()
    if diff:
        _tell_difference(screen, diff, markdown=markdown, as_json=as_json)
    elif name:
        _tell_preset(screen, name, markdown=markdown, as_json=as_json)
    elif as_json:
        _data(screen, {"presets": {each: says for each, (says, _) in PRESETS.items()}, "rules": _all_facts()})
    elif markdown:
        screen.data(rules_page.page())
    else:
        _tell_all(screen)
    return Exit.HOLDS


def rules_named(name: str) -> Rules:
    """Return the rules of a preset or of a patch release.

    Raises:
        WrongUsage: the name is neither.
    """
    if name not in PRESETS and name[:1].isdigit() and "-" not in name:
        try:
            return preset_for(name)
        except UnknownRelease as error:
            raise WrongUsage(str(error)) from error
    return preset(known("preset of rules", name, PRESETS, "zombieproof rules"))


def _tell_all(screen: Screen) -> None:
    screen.say("Presets", "bold")
    screen.table((Column("preset"), Column("")), [(name, says) for name, (says, _) in PRESETS.items()], indent=2)
    screen.say()
    screen.say("Rules", "bold")
    columns = (
        Column("rule"),
        Column("releases"),
        Column("source"),
        Column("reference"),
        Column("meaning"),
    )
    rows = [(f.name, in_releases(f), f.source, f.row, f.meaning) for f in switches()]
    screen.table(columns, rows, indent=2)
    screen.say()
    screen.say("zombieproof rules PRESET shows one preset; zombieproof rules --diff PRESET PRESET compares two")


def _tell_preset(screen: Screen, name: str, *, markdown: bool, as_json: bool) -> None:
    rules = rules_named(name)
    values = {field: getattr(rules, field) for field in (*LIMITS, *facts_by_name())}
    if as_json:
        _data(screen, {"preset": name, "rules": values})
        return
    rows = [(field, spoken(field, value), *_origin(field), meaning_of(field)) for field, value in values.items()]
    _show(screen, ("rule", name, "releases", "source", "meaning"), rows, markdown=markdown)


def _tell_difference(screen: Screen, pair: tuple[str, str], *, markdown: bool, as_json: bool) -> None:
    left, right = pair
    found = differences(rules_named(left), rules_named(right))
    if as_json:
        changed = {change.name: {"left": change.left, "right": change.right} for change in found}
        _data(screen, {"left": left, "right": right, "differences": changed})
        return
    rows = [_compared(change) for change in found]
    if rows:
        _show(screen, ("rule", left, right, "releases", "source", "meaning"), rows, markdown=markdown)
    if not markdown:
        screen.say(
            f"{left} and {right} differ in {plural(len(rows), 'rule')}"
            if rows
            else f"{left} and {right} have the same rules"
        )


def _compared(change: Difference) -> tuple[str, ...]:
    name = change.name
    return name, spoken(name, change.left), spoken(name, change.right), *_origin(name), meaning_of(name)


def _origin(field: str) -> tuple[str, str]:
    facts: SwitchFacts | None = facts_by_name().get(field)
    return (in_releases(facts), facts.source) if facts else ("", "")


def _show(screen: Screen, titles: tuple[str, ...], rows: Rows, *, markdown: bool) -> None:
    if markdown:
        screen.data(table(titles, [(f"`{first}`", *others) for first, *others in rows]))
    else:
        screen.table([Column(title) for title in titles], rows)


def _all_facts() -> list[dict[str, Any]]:
    return [
        {
            "name": facts.name,
            "meaning": facts.meaning,
            "since": facts.since or None,
            "until": facts.until or None,
            "source": facts.source,
            "reference": facts.row,
            "newest": facts.is_newest,
        }
        for facts in switches()
    ]


def _data(screen: Screen, data: dict[str, Any]) -> None:
    screen.data(json.dumps(data, indent=2, ensure_ascii=False))
