"""The runtime machine: a `transitions` machine built from the rows of a table."""

from transitions import Machine as TransitionsMachine
from transitions import MachineError

from zombieproof.statemachines.kernel import IllegalTransition, Machine


class LiveMachine:
    """One running machine: a coordinator's view of one transactional id, one producer instance, ...

    Args:
        machine: the table it follows.
        subject: what it is about, for messages (a transactional id, a partition and producer id).
        state: where it begins; the table's initial state by default.
    """

    state: str

    def __init__(self, machine: Machine, subject: str, state: int | None = None) -> None:
        self.machine, self.subject = machine, subject
        begin = machine.initial if state is None else machine.states(state)
        self._machine = TransitionsMachine(
            model=self,
            states=[s.name for s in machine.states],
            initial=begin.name,
            transitions=[[r.event.name, r.state.name, r.target.name] for r in machine.rows],
            auto_transitions=False,
            model_override=True,
        )

    def fire(self, event: int) -> int:
        """Let `event` happen and return the state after it.

        Raises:
            IllegalTransition: the table has no such row; the state is unchanged.
        """
        machine = self.machine
        before = machine.states[self.state]
        try:
            self._machine.events[machine.events(event).name].trigger(self)
        except (MachineError, KeyError) as error:
            raise IllegalTransition(machine, self.subject, before, machine.events(event)) from error
        return int(machine.states[self.state])
