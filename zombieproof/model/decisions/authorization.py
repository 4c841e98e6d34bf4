"""Who may do what: what the entries that name a resource say together, as StandardAuthorizer reads them.

Behaviour: one entry that denies outweighs all that allow. Reading, writing, deleting and altering imply that one may
know of it (DESCRIBE), but who is denied one of them may still be allowed to know. Where no entry names a resource, a
setting decides; where one does, whoever is not allowed is refused. A super user is asked nothing.
Source: ``StandardAuthorizerData.java``, ``Authorizer.authorizeByResourceType``; reference §14.1.
"""

from zombieproof.model.access import AclOperation, Permission
from zombieproof.model.vocabulary import NONE


def effect_of_entry(permission: int, of_entry: int, asked: int) -> int:
    """What one entry, whose operation is `of_entry`, says about an operation: DENY, ALLOW, or NONE for nothing."""
    if is_of_operation(of_entry, asked):
        return int(permission)
    if permission == Permission.DENY:
        return NONE
    return int(Permission.ALLOW) if implies(of_entry, asked) else NONE


def is_of_operation(of_entry: int, asked: int) -> bool:
    """Whether an entry is about an operation itself."""
    return of_entry in (AclOperation.ALL, asked)


def implies(allowed: int, asked: int) -> bool:
    """Whether one who may do `allowed` may do `asked` as well, without being told so."""
    if asked == AclOperation.DESCRIBE:
        return allowed in (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER)
    if asked == AclOperation.DESCRIBE_CONFIGS:
        return allowed == AclOperation.ALTER_CONFIGS
    return False


def decide_access(
    is_super_user: bool, is_denied: bool, is_allowed: bool, is_named: bool, everyone_if_none_is_found: bool
) -> bool:
    """Whether somebody may; `is_named`: an entry names the resource, whomever it is about."""
    if is_super_user:
        return True
    if is_denied:
        return False
    if is_allowed:
        return True
    return everyone_if_none_is_found and not is_named


def decide_access_to_some(
    to_unnamed: bool, is_denied_all: bool, is_allowed_all: bool, has_allowance_left: bool
) -> bool:
    """Whether somebody may do something to at least one resource of a type.

    `to_unnamed`: to one that no entry is about; `has_allowance_left`: an entry allows it of names that no other entry
    denies as a whole. Only entries of this very operation (or of ALL) count for the last three.
    """
    if to_unnamed:
        return True
    if is_denied_all:
        return False
    return is_allowed_all or has_allowance_left
