"""The door of a broker that asks for rights: before any machine hears of a request, and behind what they have answered.

Theory of operation: who has an entry and what it names is looked up by the host, which asks here what entries say
(`says`) and what they come to (`may`, `may_some`). A request comes to the door as a whole (`enters`); then each topic,
transactional id or group that has a row of its own (`row_enters`): what is refused is taken out of the request, and put
into the answer. What an answer tells of unasked (`operation_on_told`) is left out where whoever asks may not know of
it. A request that is refused has changed nothing, for nobody has heard of it. Source: reference §14.1.
"""

from zombieproof.model.access import Asked, ResourceType, Rights
from zombieproof.model.decisions import authorization, request_rights
from zombieproof.model.vocabulary import Error, Row
from zombieproof.statemachines.notes import Decision, Notes, note

ROWS = (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID, ResourceType.GROUP)
"""What can have a row of its own in an answer."""


def says(permission: int, of_entry: int, asked: int) -> int:
    """What one entry that names a resource says about an operation on it: DENY, ALLOW, or NONE for nothing."""
    return authorization.effect_of_entry(permission, of_entry, asked)


def is_of_operation(of_entry: int, asked: int) -> bool:
    """Whether an entry is about an operation itself, not only by what it implies."""
    return authorization.is_of_operation(of_entry, asked)


def may(
    is_super_user: bool, is_denied: bool, is_allowed: bool, is_named: bool, everyone_if_none_is_found: bool
) -> bool:
    """Whether somebody may do something to a resource."""
    return authorization.decide_access(is_super_user, is_denied, is_allowed, is_named, everyone_if_none_is_found)


def may_some(to_unnamed: bool, is_denied_all: bool, is_allowed_all: bool, has_allowance_left: bool) -> bool:
    """Whether somebody may do something to any resource of a type at all."""
    return authorization.decide_access_to_some(to_unnamed, is_denied_all, is_allowed_all, has_allowance_left)


def enters(asked: Asked, rights: Rights, notes: Notes) -> int:
    """A request of a client is at the door: NONE, or the error that it is answered with."""
    error = request_rights.error_of_request(asked, rights)
    if error != Error.NONE:
        note(notes, Decision.AUTHORIZATION, Row.NO_ROW, error)
    return error


def row_enters(resource: int, is_allowed: bool, notes: Notes) -> int:
    """A topic, transactional id or group of a request is at the door: NONE, or the error in its row."""
    error = request_rights.error_of_row(resource, is_allowed)
    if error != Error.NONE:
        note(notes, Decision.AUTHORIZATION, Row.NO_ROW, error)
    return error


def operation_on_rows(api: int, resource: int) -> int:
    """The operation that rows of a kind need, or NONE where the request has none, or they need no right."""
    return request_rights.operation_on_rows(api, resource)


def operation_on_cluster(api: int) -> int:
    """The operation on the cluster that is needed to ask of what all brokers know, or NONE."""
    return request_rights.operation_on_cluster(api)


def row_of_topics(is_allowed: bool) -> int:
    """A row tells of topics, or is about one: NONE, or the error in it for who may not know of each."""
    return request_rights.error_of_row(ResourceType.TOPIC, is_allowed)


def fact_enters(is_allowed: bool) -> int:
    """A question for what all brokers know is at the door: NONE, or the error that it is answered with."""
    return request_rights.error_of_cluster(is_allowed)


def operation_on_told(api: int, resource: int) -> int:
    """The operation that is needed to be told of what nobody named, or NONE: it is told to everybody."""
    return request_rights.operation_on_told(api, resource)
