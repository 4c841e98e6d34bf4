"""Every message is written in every version as kio has it, and read as it was written."""

import pkgutil
from dataclasses import fields, replace
from importlib import import_module
from io import BytesIO
from typing import Any

import kio.schema
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from tests.wire.fronts import CLIENT, Fronted, fronted, release_of
from tests.wire.messages_at_random import messages
from zombieproof.messages.consumer_groups import ConsumerGroupHeartbeatAnswer
from zombieproof.messages.partitions import EVERYTHING, DescribeTopics
from zombieproof.messages.registry import APIS
from zombieproof.wire.api import WireApi
from zombieproof.wire.apis import WIRE_APIS
from zombieproof.wire.asking import answer_in
from zombieproof.wire.entities import made, read, write
from zombieproof.wire.frames import SIZE

BY_KEY = {api.key: api for api in APIS}
EVERY = [
    (api, version)
    for api in WIRE_APIS.values()
    if api.key in BY_KEY
    for version in api.versions
    if version in BY_KEY[api.key].versions
]
"""But for old versions that are answered and never asked for."""
CAN_SAY_NOT_TO_CREATE = 4
BESIDE = {"of_each_max_bytes", "leader_epochs", "last_epochs"}
SAY_NOTHING = {-1, EVERYTHING}
FRONTS: dict[str, Fronted] = {}

every_version = pytest.mark.parametrize(
    ("api", "version"), EVERY, ids=[f"{api.key.name.lower()} {version}" for api, version in EVERY]
)


def front_for(api: WireApi, version: int) -> Fronted:
    """A broker that understands a version; nothing is asked of it here, so it serves all tests."""
    release = release_of(api.key, version)
    if release not in FRONTS:
        FRONTS[release] = fronted(release)
    return FRONTS[release]


def every_entity() -> list[Any]:
    found = []
    for package in pkgutil.iter_modules(kio.schema.__path__):
        if package.ispkg:
            for version in pkgutil.iter_modules(import_module(f"kio.schema.{package.name}").__path__):
                for side in ("request", "response"):
                    name = f"kio.schema.{package.name}.{version.name}.{side}"
                    try:
                        module = import_module(name)
                    except ModuleNotFoundError:
                        continue
                    found += [each for each in vars(module).values() if getattr(each, "__module__", "") == name]
    return [kind for kind in found if kind.__type__.name in {"request", "response"}]


def test_what_says_nothing_can_be_written_and_read_as_any_message_of_kafka() -> None:
    entities = every_entity()
    assert len(entities) > 500
    for kind in entities:
        entity, out = made(kind, {}, {}), BytesIO()
        write(out, entity)
        assert read(kind, out.getvalue()) == (entity, len(out.getvalue()))


@every_version
@given(data=st.data())
@settings(max_examples=8, phases=[Phase.generate])
def test_a_request_is_read_as_it_was_written(api: WireApi, version: int, data: st.DataObject) -> None:
    here = front_for(api, version)
    request = data.draw(messages(BY_KEY[api.key].request, version))
    if isinstance(request, DescribeTopics) and version < CAN_SAY_NOT_TO_CREATE:
        assume(version or request.topics)  # Of version 0 no topics are all of them.
        request = replace(request, creates=True)
    if hasattr(request, "client_id"):
        request = replace(request, client_id=CLIENT)
    (found,) = here.front.ask(here.frame(request)).messages
    assert replace(found, **dict.fromkeys(said_of_nobody(found))) == request  # type: ignore[arg-type]  # which may be none


def said_of_nobody(request: Any) -> list[str]:
    """The fields that say more of partitions, and say it of none, or what says nothing."""
    beside = [each.name for each in fields(request) if each.default is None and each.name in BESIDE]
    return [name for name in beside if set((getattr(request, name) or {}).values()) <= SAY_NOTHING]


@every_version
@given(data=st.data())
@settings(max_examples=8, phases=[Phase.generate])
def test_an_answer_is_read_as_it_was_written(api: WireApi, version: int, data: st.DataObject) -> None:
    here = front_for(api, version)
    request = data.draw(messages(BY_KEY[api.key].request, version))
    answer = data.draw(messages(BY_KEY[api.key].answer, version))
    if isinstance(answer, ConsumerGroupHeartbeatAnswer):
        answer = replace(answer, error=0)  # An error names no member.
    asked = here.front.ask(here.frame(request))
    frame = here.front.answered(asked, (answer,) * len(asked.messages))
    assert answer_in(frame[SIZE.size :], request, here.names) == answer
