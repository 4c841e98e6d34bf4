"""Whom a request to a group coordinator is about: what the requests about groups have in common."""

from typing import Annotated

from zombieproof.messages.schema import Entity, Ours, Wire

GroupId = Annotated[str, Wire("GroupId", entity=Entity.GROUP)]
MemberId = Annotated[str, Wire("MemberId", entity=Entity.MEMBER)]
GenerationId = Annotated[int, Wire("GenerationId")]
ClientId = Annotated[str, Ours("the header of a request says which client sends it; groups are described with it")]
ClientHost = Annotated[str, Ours("from where a request comes is known of its connection; groups are described with it")]
InstanceId = Annotated[str | None, Wire("GroupInstanceId")]
