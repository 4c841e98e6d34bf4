"""Whom a request to a group coordinator is about: what the requests about groups have in common."""

from typing import Annotated

from zombieproof.messages.schema import Entity, Wire

GroupId = Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
MemberId = Annotated[str, Wire("MemberId", entity=Entity.MEMBER)]
GenerationId = Annotated[int, Wire("GenerationId")]
InstanceId = Annotated[str | None, Wire("GroupInstanceId")]
