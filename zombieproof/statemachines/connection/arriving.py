"""The step of a connection that has to be authenticated: something has come on it."""

from dataclasses import dataclass

from zombieproof.model.decisions.api_versions import decide_api_versions, is_valid_question
from zombieproof.model.decisions.authentication import Arrival, Reaction, decide_arrival
from zombieproof.model.vocabulary import ConnectionState, Error, Row
from zombieproof.statemachines.notes import Decision, MachineIndex, Notes, move, note

__all__ = ["Arrival", "ConnectionRecord", "Reaction"]


@dataclass(slots=True)
class ConnectionRecord:
    """What a broker remembers of a connection."""

    state: int = int(ConnectionState.NEW)


def arrives(connection: ConnectionRecord, arrival: Arrival, notes: Notes) -> Reaction:
    """Something has come: whether it is answered and how, goes on to whom it is for, or ends the connection."""
    reaction = decide_arrival(connection.state, arrival)
    if reaction.error != Error.NONE:
        note(notes, Decision.AUTHENTICATION, Row.NO_ROW, reaction.error)
    connection.state = move(notes, MachineIndex.CONNECTION, connection.state, reaction.event)
    return reaction


def is_closed(connection: ConnectionRecord) -> bool:
    """Whether nothing that comes is read any more."""
    return connection.state == ConnectionState.CLOSED


def is_authenticated(connection: ConnectionRecord) -> bool:
    """Whether it is known who is at the other end."""
    return connection.state == ConnectionState.AUTHENTICATED


def is_agreed(connection: ConnectionRecord) -> bool:
    """Whether tokens of a mechanism are exchanged."""
    return connection.state in (ConnectionState.AUTHENTICATING, ConnectionState.EXCHANGING_TOKENS)


def takes_bare_tokens(connection: ConnectionRecord) -> bool:
    """Whether what comes next has no header."""
    return connection.state == ConnectionState.EXCHANGING_TOKENS


def is_valid_versions_question(version: int, has_legal_names: bool, names_cluster: bool, names_node: bool) -> bool:
    """Whether an ApiVersions makes sense, whoever reads it."""
    return is_valid_question(version, has_legal_names, names_cluster, names_node)


def versions_are_asked(version: int, is_valid: bool, names_cluster: bool, is_cluster: bool, is_node: bool) -> int:
    """An ApiVersions of a version that is understood comes to a broker: the error of the answer."""
    return decide_api_versions(version, is_valid, names_cluster, is_cluster, is_node)
