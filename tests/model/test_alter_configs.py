"""Settings: each fault, in Kafka's order: a row repairs what the row before was refused for."""

import pytest

from zombieproof.model.decisions.alter_configs import (
    Fault,
    Operation,
    Resource,
    error_of,
    fault_of_broker,
    fault_of_description,
    fault_of_operation,
    fault_of_request,
    fault_of_topic,
)
from zombieproof.model.vocabulary import Error
from zombieproof.statemachines.configs import altered


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ((True, True, True, 3), Fault.NAMED_TWICE),
        ((False, True, True, 3), Fault.SETTING_TWICE),
        ((False, False, True, 3), Fault.NULL_VALUE),
        ((False, False, False, 3), Fault.UNKNOWN_KIND),
        ((False, False, False, Resource.TOPIC), Fault.NOTHING),
        ((False, False, False, Resource.BROKER), Fault.NOTHING),
    ],
)
def test_what_is_wrong_with_a_request(facts: tuple[bool, bool, bool, int], fault: Fault) -> None:
    assert fault_of_request(*facts) is fault


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ((False, False, False, False), Fault.NO_NODE),
        ((True, False, False, False), Fault.OTHER_NODE),
        ((True, True, False, False), Fault.NOT_WHILE_RUNNING),
        ((True, True, True, False), Fault.BAD_VALUE_OF_BROKER),
        ((True, True, True, True), Fault.NOTHING),
    ],
)
def test_what_is_wrong_with_a_change_of_a_broker(facts: tuple[bool, bool, bool, bool], fault: Fault) -> None:
    assert fault_of_broker(*facts) is fault


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        ((False, False, False, False), Fault.NO_NAME),
        ((True, False, False, False), Fault.ILLEGAL_NAME),
        ((True, True, False, False), Fault.BAD_VALUE),
        ((True, True, True, False), Fault.UNKNOWN_TOPIC),
        ((True, True, True, True), Fault.NOTHING),
    ],
)
def test_what_is_wrong_with_a_change_of_a_topic(facts: tuple[bool, bool, bool, bool], fault: Fault) -> None:
    assert fault_of_topic(*facts) is fault


@pytest.mark.parametrize(
    ("operation", "is_list", "fault"),
    [
        (4, True, Fault.UNKNOWN_OPERATION),
        (-1, True, Fault.UNKNOWN_OPERATION),
        (Operation.APPEND, False, Fault.NO_LIST),
        (Operation.SUBTRACT, False, Fault.NO_LIST),
        (Operation.SUBTRACT, True, Fault.NOTHING),
        (Operation.SET, False, Fault.NOTHING),
        (Operation.DELETE, False, Fault.NOTHING),
    ],
)
def test_only_lists_are_appended_to(operation: int, is_list: bool, fault: Fault) -> None:
    assert fault_of_operation(operation, is_list) is fault


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ((Resource.TOPIC, False, False, False, False), Error.INVALID_TOPIC_EXCEPTION),
        ((Resource.TOPIC, False, False, True, False), Error.UNKNOWN_TOPIC_OR_PARTITION),
        ((Resource.TOPIC, False, False, True, True), Error.NONE),
        ((3, True, True, True, True), Error.INVALID_REQUEST),
        ((Resource.BROKER, False, True, True, True), Error.INVALID_REQUEST),
        ((Resource.BROKER, True, False, True, True), Error.INVALID_REQUEST),
        ((Resource.BROKER, True, True, False, False), Error.NONE),
    ],
)
def test_why_settings_are_not_told(facts: tuple[int, bool, bool, bool, bool], error: Error) -> None:
    assert error_of(fault_of_description(*facts)) == error


@pytest.mark.parametrize(
    ("operation", "before", "value", "after"),
    [
        (Operation.SET, ["a"], "b", "b"),
        (Operation.SET, ["a"], "", ""),
        (Operation.DELETE, ["a"], "b", None),
        (Operation.APPEND, ["a"], "b,a,b", "a,b"),
        (Operation.APPEND, [], "b", "b"),
        (Operation.SUBTRACT, ["a", "b", "c"], "a,c,d", "b"),
        (Operation.SUBTRACT, ["a"], "a", ""),
        (Operation.SUBTRACT, [], "a", ""),
    ],
)
def test_what_is_said_of_a_setting_afterwards(operation: int, before: list[str], value: str, after: str | None) -> None:
    assert altered(operation, before, value) == after
