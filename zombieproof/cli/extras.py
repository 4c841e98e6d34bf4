"""What has to be installed besides the program itself."""

from importlib.util import find_spec

from zombieproof.cli.usage import WrongUsage


def need(extra: str, package: str, command: str) -> None:
    """See that a package of an extra is there.

    Raises:
        WrongUsage: it is not.
    """
    if find_spec(package) is None:
        raise WrongUsage(f"{command} needs {package}, which is not installed: pip install 'zombieproof[{extra}]'")
