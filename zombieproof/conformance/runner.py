"""Plays sequences against subjects: asks, asks again where the recorder did, and compares.

Source: the README of the recordings, chapter "Time, and answers that say ask again".
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

from zombieproof.broker.cluster.network import Answer, Request
from zombieproof.conformance import forms
from zombieproof.conformance.comparison import Difference, Json, answering, canonical, errors_in
from zombieproof.conformance.connections import PASSWORD
from zombieproof.conformance.in_process import settings_of
from zombieproof.conformance.recorded_names import TOLD_BY_SOME
from zombieproof.conformance.recording import Recorded
from zombieproof.conformance.steps import Step
from zombieproof.conformance.subject import (
    NOBODY,
    Closed,
    Credentials,
    Impossible,
    Role,
    Sender,
    Silence,
    Subject,
    role_of,
)
from zombieproof.conformance.symbols import Symbols, UnknownSymbol
from zombieproof.conformance.to_answers import answer_form
from zombieproof.conformance.to_requests import request_of
from zombieproof.messages.transactions import DescribeTransactions
from zombieproof.model.vocabulary import Error

AGAIN = frozenset(
    {
        Error.REQUEST_TIMED_OUT,
        Error.NETWORK_EXCEPTION,
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.CONCURRENT_TRANSACTIONS,
    }
)
"""Answers with which a request was sent again, unchanged."""

AGAIN_FOR_PRODUCE = AGAIN | {Error.NOT_ENOUGH_REPLICAS}

CLOCK_INTERVAL_MS = 200
"""How often a recorded broker looked for transactions that were open for too long."""

SubjectOf = Callable[[Recorded], Subject]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one sequence; `steps` were compared."""

    recorded: Recorded
    steps: int
    difference: Difference | None


def play(recorded: Recorded, subject_of: SubjectOf) -> Played:
    """Play a sequence up to the first answer that differs.

    Raises:
        RecordingError: the sequence asks for something that does not exist.
    """
    sequence = recorded.sequence
    count = settings_of(recorded).offsets_topic_num_partitions
    with closing(subject_of(recorded)) as subject:
        return _played(recorded, Player(subject, Symbols(count, sequence.topics)), count)


def _played(recorded: Recorded, player: "Player", count: int) -> Played:
    sequence = recorded.sequence
    for number, step in enumerate(sequence.steps, start=1):
        try:
            got = player.answer(step)
        except (UnknownSymbol, Impossible) as error:
            raise recorded.refused(f"sequence {sequence.id}, step {number}", str(error)) from error
        got = {
            name: value for name, value in got.items() if name in step.answer or (step.api, name) not in TOLD_BY_SOME
        }
        if canonical(got, count) != canonical(step.answer, count):
            decision = answering(step.api, player.subject.decisions(), errors_in(got))
            request = step.request.model_dump(mode="json", exclude_unset=True)
            place = (recorded.file, sequence.id, number, step.api, step.version)
            return Played(recorded, number, Difference(*place, request, dict(step.answer), got, decision))
    return Played(recorded, len(sequence.steps), None)


def answers_of(recorded: Recorded, subject_of: SubjectOf) -> list[Json]:
    """What a subject answers to each step, whatever was recorded.

    Raises:
        RecordingError: the sequence asks for something that does not exist.
    """
    sequence = recorded.sequence
    count = settings_of(recorded).offsets_topic_num_partitions
    with closing(subject_of(recorded)) as subject:
        player = Player(subject, Symbols(count, sequence.topics))
        return [player.answer(step) for step in sequence.steps]


@dataclass(slots=True)
class Player:
    """One sequence while it is played."""

    subject: Subject
    symbols: Symbols
    begun: dict[str, Request] = field(default_factory=dict)

    def answer(self, step: Step, *, once: bool = False) -> Json:
        """What the subject answers to a step; `once`: also where it says "ask again"."""
        self.symbols.coordinator_epochs(self.subject.coordinator_epochs())
        match step.request:
            case forms.WaitForm(transactional_id=transactional_id, ms=milliseconds):
                # It ended when the broker had looked at its clock once more.
                self.subject.pass_time(milliseconds + CLOCK_INTERVAL_MS, until_ended=transactional_id)
                return self._described(transactional_id)
            case forms.SleepForm(ms=milliseconds):
                self.subject.pass_time(milliseconds)
            case forms.AnsweredForm(of=name):
                return self._answered(name)
            case forms.RestartForm(how=how):
                self.subject.restart(clean=how == "clean")
            case forms.NothingForm() if step.api == "Return":
                self.subject.give_back()
            case forms.NodeForm(node=node):
                _FAULTS[step.api](self.subject, role_of(node))
            case forms.SaslHandshakeForm(mechanism=mechanism):
                return self._authenticated(step, mechanism=mechanism)
            case forms.CredentialsForm():
                return self._authenticated(step, token=_token_of(step.request))
            case forms.NothingForm() if step.api == "ApiVersions":
                return self._authenticated(step)
            case _:
                return self._asked(step, once=once)
        return {}

    def _authenticated(self, step: Step, mechanism: str = "", token: bytes = b"") -> Json:
        """What is recorded of the answer depends on the API, and on its version."""
        assert step.connection is not None, "steps of authentication are on a connection"
        told = self.subject.authenticate(Credentials(step.api, step.version, mechanism, token), step.connection)
        if isinstance(told, Closed):
            return {"closed": True}
        match step.api:
            case "SaslHandshake":
                return {"error": told.error, "mechanisms": list(told.mechanisms)}
            case "SaslToken":
                return {"token": told.token.decode()}
            case "SaslAuthenticate" if step.version >= FIRST_WITH_LIFETIME:
                return {"error": told.error, "lifetime": told.lifetime_ms}
        return {"error": told.error}

    def _described(self, transactional_id: str) -> Json:
        answer = self._sent(DescribeTransactions(0, (transactional_id,)), None)
        rows = answer.get("transactions")
        row = rows[0] if isinstance(rows, list) and rows else None
        return row if isinstance(row, dict) else answer

    def _asked(self, step: Step, *, once: bool) -> Json:
        role = None if step.node is None else role_of(step.node)
        assert step.API is not None, "time and faults are no requests"
        request = request_of(step.API, step.version, step.request, self.symbols)
        if step.later is not None:
            self.begun[step.later] = request
            self.subject.begin(request, role, step.later)
            return {}
        repeat: int = getattr(step.request, "repeat", 1)
        answer: Json = {}
        sender = Sender(step.principal, step.connection)
        for _ in range(repeat):
            answer = self._until_settled(step.api, request, role, sender, once=once)
        return answer

    def _answered(self, name: str) -> Json:
        if name not in self.begun:
            raise UnknownSymbol(f"{name!r} is no request; legal are the names in `later` of the steps before")
        return self._told(self.begun[name], self.subject.answered(name))

    def _until_settled(self, api: str, request: Request, role: Role | None, sender: Sender, *, once: bool) -> Json:
        """Send a request until the answer is not "ask again", or nothing can change any more."""
        again = AGAIN_FOR_PRODUCE if api == "Produce" else AGAIN
        attempt = 1
        answer = self._sent(request, role, sender)
        while (
            not once and (role is None or not role.is_old) and errors_in(answer) & again and self.subject.go_on(attempt)
        ):
            answer = self._sent(request, role, sender)
            attempt += 1
        return answer

    def _sent(self, request: Request, role: Role | None, sender: Sender = NOBODY) -> Json:
        return self._told(request, self.subject.ask(request, role, sender))

    def _told(self, request: Request, answer: Answer | Closed | Silence) -> Json:
        match answer:
            case Closed():
                return {"closed": True}
            case Silence():
                return {"answered": False}
        return answer_form(request, answer, self.symbols)


FIRST_WITH_LIFETIME = 1


def _token_of(form: forms.CredentialsForm) -> bytes:
    if form.token is not None:
        return form.token.encode()
    password = PASSWORD if form.password == "right" else f"not-{PASSWORD}"  # noqa: S105  # it says which, and is none
    return f"{form.authzid}\0{form.user}\0{password}".encode()


_FAULTS: Mapping[str, Callable[[Subject, Role], None]] = {
    "Move": lambda subject, role: subject.move(role),
    "Stop": lambda subject, role: subject.stop(role),
    "Kill": lambda subject, role: subject.kill(role),
}
