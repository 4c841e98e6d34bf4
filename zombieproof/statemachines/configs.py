"""Settings of topics and brokers: what a request may change, and what is said of them then.

Theory of operation: who drives a broker looks up and reads values; here is judged, in Kafka's order. A setting is what
is said of it, as text; a list is a text with commas, to which and from which parts may come and go.
Source: ``ConfigAdminManager.scala``, ``ConfigurationControlManager.java``, ``ConfigHelper.scala``.
"""

from collections.abc import Sequence

from zombieproof.model.decisions.alter_configs import (
    Fault,
    Operation,
    Resource,
    error_of,
    fault_of_broker,
    fault_of_description,
    fault_of_operation,
    fault_of_request,
    fault_of_rights,
    fault_of_topic,
)

__all__ = [
    "Fault",
    "Operation",
    "Resource",
    "allows",
    "altered",
    "asks",
    "broker",
    "described",
    "error_of",
    "name_of",
    "needs_value",
    "operates",
    "topic",
]

allows, asks, broker, described, operates, topic = (
    fault_of_rights,
    fault_of_request,
    fault_of_broker,
    fault_of_description,
    fault_of_operation,
    fault_of_topic,
)


def needs_value(operation: int) -> bool:
    """Whether an operation says what becomes of a setting."""
    return operation != Operation.DELETE


def name_of(operation: int) -> str:
    """Kafka's name of an operation; "": it is none."""
    return Operation(operation).name if operation in set(Operation) else ""


def altered(operation: int, before: Sequence[str], value: str | None) -> str | None:
    """What is said of a setting after an operation; None: nothing. `before`: the parts of the list that it was."""
    given = (value or "").split(",")
    if operation == Operation.SET:
        return value
    if operation == Operation.APPEND:
        return ",".join([*before, *(part for part in dict.fromkeys(given) if part not in before)])
    if operation == Operation.SUBTRACT:
        return ",".join(part for part in before if part not in given)
    return None
