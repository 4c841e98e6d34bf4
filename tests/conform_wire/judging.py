"""One scenario, played at a broker."""

from zombieproof.conformance.outside.applicable import Circumstances, release_of
from zombieproof.conformance.outside.bootstrap import addresses_of
from zombieproof.conformance.outside.judge import Judge, Judged
from zombieproof.conformance.outside.peer import Peer
from zombieproof.conformance.outside.scenarios import Scenario, families

SCENARIOS: dict[str, tuple[str, Scenario]] = {
    scenario.name: (family.family, scenario) for family in families() for scenario in family.scenarios
}


def judged(name: str, bootstrap: str) -> Judged:
    """What comes of a scenario at a broker."""
    peer = Peer(addresses_of(bootstrap))
    try:
        judge = Judge(peer, Circumstances(peer.spoken, release_of(peer.spoken), peer.settings()))
        return judge.scenario(*SCENARIOS[name])
    finally:
        peer.close()
