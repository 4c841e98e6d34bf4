"""Scenarios and models of one's own: read from a Python file, `path/to/scenario.py[:NAME]`, without being registered.

The file is imported as a script would be: its folder comes first where modules are looked for, and what it prints goes
to stderr. Each mistake in it is the author's: an `OwnFault` names file and line, what is wrong and what would be legal.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from zombieproof.checker.engine.model import Model, Promise, near
from zombieproof.checker.engine.sources import file_of
from zombieproof.checker.scenario import Mutant, Scenario
from zombieproof.statemachines.kernel import Machine

_ASKED = re.compile(r"(?P<file>.*\.py)(?::(?P<name>[^:/]*))?", re.DOTALL)
_OURS = Path(__file__).resolve().parents[1]
_MADE = "transaction_scenario(...) of zombieproof, or its Scenario(...)"


class OwnFault(ValueError):
    """Raised for a file of scenarios or machines that is not valid; says where, what, and what would be legal."""


def names_a_file(asked: str) -> bool:
    """Whether what was asked for is a file and not the name of a registered scenario."""
    return "/" in asked or "\\" in asked or _ASKED.fullmatch(asked) is not None


def load(asked: str) -> list[Scenario]:
    """The scenarios of "FILE.py", in the order in which it defines them, or the one of "FILE.py:NAME".

    Raises:
        OwnFault: there is no such file or scenario, or the file has a mistake.
    """
    found = _ASKED.fullmatch(asked)
    if Path(asked).is_dir():
        raise OwnFault(f"{asked}: is a folder; give a Python file in it")
    if found is None:
        raise OwnFault(f"{asked}: not a Python file; give FILE.py or FILE.py:NAME")
    file, wanted = found["file"], found["name"]
    source = _read(file)
    module = _imported(file, source)
    here = _scenarios(module, ast.parse(source), everything=bool(wanted))
    legal = list(dict.fromkeys(scenario.name for scenario in here.values()))
    if wanted is None:
        if not here:
            raise OwnFault(f"{file}: defines no scenario. Legal: a module attribute made by {_MADE}")
        return _placed(file, list(here.values()))
    chosen = [scenario for name, scenario in here.items() if wanted in (name, scenario.name)]
    if not chosen:
        listed = near(wanted, legal) if wanted else f"there are: {', '.join(legal)}"
        raise OwnFault(
            f"{file}: there is no scenario {wanted!r}; {listed if legal else f'the file defines none: {_MADE}'}"
        )
    return _placed(file, chosen[:1])


def machines(asked: str) -> list[Machine]:
    """The machines of "FILE.py", in the order in which it defines them, or the one of "FILE.py:NAME".

    Raises:
        OwnFault: there is no such file or machine, or the file has a mistake; two machines have one name, or one has a
            name that no file can have.
    """
    found = _ASKED.fullmatch(asked)
    if found is None or Path(asked).is_dir():
        raise OwnFault(f"{asked}: not a Python file; give FILE.py or FILE.py:NAME")
    file, wanted = found["file"], found["name"]
    module = _imported(file, _read(file))
    here: dict[str, Machine] = {}
    for machine in vars(module).values():
        if not isinstance(machine, Machine):
            continue
        if here.setdefault(machine.name, machine) is not machine:
            raise OwnFault(f"{file}: two machines are named {machine.name!r}; rename one")
        if re.fullmatch(r"[\w -]+", machine.name) is None:
            raise OwnFault(f"{file}: the machine name {machine.name!r} cannot be a file name; use letters and digits")
    if not here:
        raise OwnFault(f"{file}: defines no machine. Legal: a module attribute made by Machine(...)")
    if wanted is not None and wanted not in here:
        raise OwnFault(f"{file}: there is no machine {wanted!r}; {near(wanted, here)}")
    return [machine for name, machine in here.items() if wanted in (None, name)]


def _placed(file: str, scenarios: list[Scenario]) -> list[Scenario]:
    named: dict[str, Scenario] = {}
    for scenario in scenarios:
        if named.setdefault(scenario.name, scenario) is not scenario:
            raise OwnFault(f"{file}: two scenarios are named {scenario.name!r}; rename one")
    return [replace(scenario, origin=file) for scenario in named.values()]


def _read(file: str) -> bytes:
    path = Path(file)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        beside = sorted(each.name for each in path.parent.glob("*.py")) if path.parent.is_dir() else []
        there_are = f"; {near(path.name, beside)}" if beside else ""
        raise OwnFault(f"{file}: no such file{there_are}") from None
    except OSError as error:
        raise OwnFault(f"{file}: cannot be read: {error.strerror}") from error


# ---------------------------------------------------------------- import


def _imported(file: str, source: bytes) -> ModuleType:
    """Run the file as a module of its own."""
    path = Path(file).resolve()
    name, root = _module_name(path)
    known = sys.modules.get(name)
    if known is not None and "." in name and file_of(known) == path:
        return known  # one of the program's own files, or of another package: there is one of it in a process
    _refuse_namesakes(root)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with _as_script(root):
            exec(_compiled(source, file), module.__dict__)  # noqa: S102  # that is its purpose
    except SyntaxError as error:
        sys.modules.pop(name, None)
        raise OwnFault(_syntax(file, error)) from error
    except SystemExit as error:
        sys.modules.pop(name, None)
        line = _line_in(error, file)
        raise OwnFault(
            f'{file}:{line}: exits while it is imported. Move that code under if __name__ == "__main__":'
        ) from error
    except Exception as error:
        sys.modules.pop(name, None)
        raise OwnFault(explained(error, file) or f"{file}: {_words(error)}") from error
    return module


def _module_name(path: Path) -> tuple[str, Path]:
    """The name under which a file is imported, and the folder where it and its neighbours are looked for.

    A file in a package has its dotted name; another has one that no other file has.
    """
    parts, root = [path.stem], path.parent
    while (root / "__init__.py").is_file():
        parts, root = [root.name, *parts], root.parent
    if len(parts) > 1:
        return ".".join(parts), root
    return f"own_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}", root


@contextlib.contextmanager
def _as_script(folder: Path) -> Iterator[None]:
    """Import as a script of that folder does; leave no compiled files there, and nothing on stdout."""
    writes = sys.dont_write_bytecode
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.dont_write_bytecode = writes
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def _compiled(source: bytes, file: str) -> CodeType:
    try:
        return compile(source, file, "exec", dont_inherit=True)
    except ValueError as error:  # Python 3.11 before 3.11.4 says so of zero bytes.
        raise SyntaxError(str(error)) from error


def _refuse_namesakes(folder: Path) -> None:
    """Another file's neighbour, imported already, must not be taken for a module of this folder."""
    for name, module in list(sys.modules.items()):
        file = file_of(module)
        if file is None or "." in name or file.parent == folder or file.is_relative_to(_OURS):
            continue
        namesake = folder / f"{name}.py"
        if name.startswith("own_") or not namesake.is_file() or name in sys.stdlib_module_names:
            continue
        raise OwnFault(
            f"{namesake}: a module named {name} is already imported from {file}; "
            "rename one, or check them in separate runs"
        )


def _scenarios(module: ModuleType, tree: ast.Module, *, everything: bool) -> dict[str, Scenario]:
    """Attribute -> scenario; those that the file only imports from elsewhere are asked for by name."""
    borrowed = {
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    found: dict[str, Scenario] = {}
    for name, value in vars(module).items():
        is_new = not any(value is other for other in found.values())
        if isinstance(value, Scenario) and is_new and (everything or name not in borrowed):
            found[name] = value
    return found


# ---------------------------------------------------------------- whose fault, and where


def explained(error: BaseException, file: str) -> str:
    """An exception that code of the file raised, with the line; "" if none of its code was running."""
    if isinstance(error, SyntaxError):
        return _syntax(file, error)
    entries = zip(traceback.extract_tb(error.__traceback__), traceback.walk_tb(error.__traceback__), strict=True)
    frames = [(summary, frame) for summary, (frame, _) in entries if _is_own(summary.filename, file)]
    if not frames:
        return ""
    last, frame = frames[-1]
    if type(error).__module__.startswith("zombieproof."):
        return f"{last.filename}:{_sharper(last, error)}: {error}"
    legal = _legal(error, last, {**builtins.__dict__, **frame.f_globals, **frame.f_locals})
    return f"{last.filename}:{last.lineno}: {_words(error)}{legal}"


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error) or 'no message'}"


def _legal(error: BaseException, frame: traceback.FrameSummary, scope: dict[str, Any]) -> str:
    """What would have been legal in place of a name that does not exist."""
    if isinstance(error, NameError):
        close = near(error.name or "", scope)
        return f"; {close}" if close.startswith("did") else ""
    if isinstance(error, ModuleNotFoundError):
        return ". Legal: modules in the same folder, and packages installed with zombieproof"
    if isinstance(error, ImportError):
        name = str(error).partition("cannot import name '")[2].partition("'")[0]
        return f"; {near(name, dir(sys.modules.get(error.name or '')))}" if name else ""
    node = _node(frame, ast.Attribute) if isinstance(error, AttributeError) else None
    if node is None or not isinstance(node.value, ast.Name):
        return ""
    owner = scope.get(node.value.id)
    return f" of {node.value.id}; {near(node.attr, [name for name in dir(owner) if not name.startswith('_')])}"


_Node = TypeVar("_Node", bound=ast.expr)


def _node(frame: traceback.FrameSummary, kind: type[_Node]) -> _Node | None:
    """The expression that was being evaluated."""
    place = (
        frame.lineno,
        getattr(frame, "end_lineno", None),
        getattr(frame, "colno", None),
        getattr(frame, "end_colno", None),
    )
    for node in ast.walk(ast.parse(Path(frame.filename).read_bytes())):
        if isinstance(node, kind) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == place:
            return node
    return None


def _syntax(file: str, error: SyntaxError) -> str:
    where = error.filename if error.filename and _is_own(error.filename, file) else file
    return f"{where}:{error.lineno or 1}: not valid Python: {error.msg}"


def _is_own(filename: str, file: str) -> bool:
    """Whether a source is the file, or lies beside it and is none of ours."""
    path, own = Path(filename).resolve(), Path(file).resolve()
    return path == own or (
        path.is_relative_to(own.parent)
        and not path.is_relative_to(_OURS)
        and path.is_file()
        and "site-packages" not in path.parts
    )


def _line_in(error: BaseException, file: str) -> int:
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if _is_own(f.filename, file)]
    return lines[-1] or 1 if lines else 1


def _sharper(frame: traceback.FrameSummary, error: BaseException) -> int:
    """The line of what the error is about, inside the call that failed: a row, an argument, or a text."""
    line = frame.lineno or 1
    what, row = getattr(error, "what", ""), getattr(error, "row", None)
    if not what and row is None:
        return line
    call = _node(frame, ast.Call)
    if call is None:
        return line
    names = _parameters().get(ast.unparse(call.func).rpartition(".")[2], [])
    arguments: dict[str | None, ast.expr] = dict(zip(names, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords}
    if row is not None:
        rows = arguments.get("rows")
        return rows.elts[row].lineno if isinstance(rows, ast.Tuple) and row < len(rows.elts) else line
    if what in arguments:
        return arguments[what].lineno
    texts = [node.lineno for node in ast.walk(call) if isinstance(node, ast.Constant) and node.value == what]
    return (texts or [line])[-1]


def _parameters() -> dict[str, list[str]]:
    """What a file calls to make something of ours -> the names of its parameters."""
    from zombieproof.checker.transactions.scenario import transaction_scenario  # noqa: PLC0415  # for mistakes only

    makers = (transaction_scenario, Scenario, Mutant, Model, Promise, Machine)
    return {made.__name__: list(inspect.signature(made).parameters) for made in makers}


def place_of_text(file: str, text: str) -> str:
    """`file:line` where a text stands first, such as a scenario's name."""
    constants = (node for node in ast.walk(ast.parse(_read(file))) if isinstance(node, ast.Constant))
    lines = [node.lineno for node in constants if node.value == text]
    return f"{file}:{min(lines, default=1)}"
