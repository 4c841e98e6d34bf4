"""FindCoordinator: who coordinates groups and transactional ids."""

from tests.wire.stage import Scene, Stage
from zombieproof.model.vocabulary import ApiKey

FIND = ApiKey.FIND_COORDINATOR
MANY_SINCE = 4


def finds(stage: Stage, version: int) -> None:
    """Of a group and of a transactional id, of nothing, and of what is neither."""
    for key_type in (0, 1, 2, 3, 9, -1):
        for keys in ((stage.name("a"),), ("",)):
            stage.ask(FIND, version, key=keys[0], coordinator_keys=keys, key_type=key_type)
    if version >= MANY_SINCE:
        stage.ask(FIND, version, coordinator_keys=[stage.name("a"), "", stage.name("b")], key_type=0)
        stage.ask(FIND, version, coordinator_keys=[], key_type=0)


NO_SHARES = "3.9 looks for the log of groups that share, and answers 15 where there is none; here they are refused"

SCENES = (Scene("find", FIND, finds, differs={"3.9.1 6": NO_SHARES}),)
