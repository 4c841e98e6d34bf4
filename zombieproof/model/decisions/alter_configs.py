"""AlterConfigs (API key 33, versions 0-2) and IncrementalAlterConfigs (44, 0-1): whose settings may change, and how.

Behaviour: a resource that is named twice does not change, nor one of which a setting is named twice, or is to be
nothing, nor one that whoever asks may not change (of a topic that comes before its settings are looked at, of a broker
behind all else); a broker changes only what may change while it runs, and only by itself; topics have names and
settings that can be, and are there. A list may be appended to and subtracted from, nothing else.
Source: ``ConfigAdminManager.preprocess``, ``ControllerConfigurationValidator.java``,
``ConfigurationControlManager.java``.
"""

from enum import IntEnum

from zombieproof.model.vocabulary import Error


class Resource(IntEnum):
    """What has settings (``ConfigResource.Type``): those that have any here."""

    TOPIC = 2
    BROKER = 4


class Operation(IntEnum):
    """What becomes of a setting (``AlterConfigOp.OpType``)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Fault(IntEnum):
    """Why nothing of a resource changes."""

    NOTHING = 0
    NAMED_TWICE = 1
    SETTING_TWICE = 2
    NULL_VALUE = 3
    UNKNOWN_KIND = 4
    NO_NODE = 5
    OTHER_NODE = 6
    NOT_WHILE_RUNNING = 7
    UNKNOWN_OPERATION = 8
    NO_LIST = 9
    NO_NAME = 10
    ILLEGAL_NAME = 11
    BAD_VALUE = 12
    BAD_VALUE_OF_BROKER = 13
    UNKNOWN_TOPIC = 14
    MAY_NOT_TOPIC = 15
    MAY_NOT_CLUSTER = 16


def error_of(fault: int) -> int:
    """What is answered: INVALID_REQUEST, if nothing else is said here."""
    if fault == Fault.NOTHING:
        return int(Error.NONE)
    if fault == Fault.UNKNOWN_OPERATION:
        return int(Error.UNKNOWN_SERVER_ERROR)
    if fault in (Fault.NO_LIST, Fault.BAD_VALUE):
        return int(Error.INVALID_CONFIG)
    if fault == Fault.ILLEGAL_NAME:
        return int(Error.INVALID_TOPIC_EXCEPTION)
    if fault == Fault.UNKNOWN_TOPIC:
        return int(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if fault == Fault.MAY_NOT_TOPIC:
        return int(Error.TOPIC_AUTHORIZATION_FAILED)
    return int(Error.CLUSTER_AUTHORIZATION_FAILED if fault == Fault.MAY_NOT_CLUSTER else Error.INVALID_REQUEST)


def fault_of_request(is_named_twice: bool, has_setting_twice: bool, has_null: bool, kind: int) -> Fault:
    """What is wrong with what is asked for, whatever there is."""
    if is_named_twice:
        return Fault.NAMED_TWICE
    if has_setting_twice:
        return Fault.SETTING_TWICE
    if has_null:
        return Fault.NULL_VALUE
    return Fault.NOTHING if kind in (Resource.TOPIC, Resource.BROKER) else Fault.UNKNOWN_KIND


def fault_of_rights(kind: int, may: bool) -> Fault:
    """What is wrong if whoever asks has no right: those of a broker's settings are of the whole cluster."""
    if may:
        return Fault.NOTHING
    return Fault.MAY_NOT_TOPIC if kind == Resource.TOPIC else Fault.MAY_NOT_CLUSTER


def fault_of_broker(is_number: bool, is_this_node: bool, may_change: bool, can_be: bool) -> Fault:
    """What is wrong with a change of a broker; one without a number is every broker."""
    if not is_number:
        return Fault.NO_NODE
    if not is_this_node:
        return Fault.OTHER_NODE
    if not may_change:
        return Fault.NOT_WHILE_RUNNING
    return Fault.NOTHING if can_be else Fault.BAD_VALUE_OF_BROKER


def fault_of_operation(operation: int, is_list: bool) -> Fault:
    """What is wrong with one change of a setting."""
    changes_list = operation in (Operation.APPEND, Operation.SUBTRACT)
    if not changes_list and operation not in (Operation.SET, Operation.DELETE):
        return Fault.UNKNOWN_OPERATION
    return Fault.NO_LIST if changes_list and not is_list else Fault.NOTHING


def fault_of_topic(is_named: bool, is_legal: bool, can_be: bool, exists: bool) -> Fault:
    """What is wrong with what is to be said of a topic's settings."""
    if not is_named:
        return Fault.NO_NAME
    if not is_legal:
        return Fault.ILLEGAL_NAME
    if not can_be:
        return Fault.BAD_VALUE
    return Fault.NOTHING if exists else Fault.UNKNOWN_TOPIC


def fault_of_description(
    kind: int, is_number: bool, is_this_node: bool, is_legal: bool, exists: bool, may_describe: bool = True
) -> Fault:
    """Why the settings of a resource cannot be told; the broker without a number is what all of them share."""
    if kind in (Resource.TOPIC, Resource.BROKER) and not may_describe:
        return fault_of_rights(kind, may_describe)
    if kind == Resource.TOPIC:
        if not is_legal:
            return Fault.ILLEGAL_NAME
        return Fault.NOTHING if exists else Fault.UNKNOWN_TOPIC
    if kind != Resource.BROKER:
        return Fault.UNKNOWN_KIND
    if not is_number:
        return Fault.NO_NODE
    return Fault.NOTHING if is_this_node else Fault.OTHER_NODE
