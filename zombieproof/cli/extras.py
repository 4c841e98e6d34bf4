"""Check that optional dependencies are installed."""

from importlib.util import find_spec

from zombieproof.cli.usage import WrongUsage


def need(extra: str, package: str, command: str) -> None:
    """Check that a package of an extra is installed.

    Raises:
        WrongUsage: it is not.
    """
    if find_spec(package) is None:
        raise WrongUsage(f"{command} needs {package}, which is not installed: pip install 'zombieproof[{extra}]'")
