"""What a plan is: faults, each of which says which requests it is for, what becomes of them, and when.

Every part refuses what it does not know; what is legal by the protocol is looked at by `legal`.
Source: DESIGN §6.
"""

from dataclasses import replace
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from zombieproof.model.releases import RELEASES
from zombieproof.model.rules import Rules, preset_for, switches, with_switches
from zombieproof.model.vocabulary import PRODUCER_EPOCH_MAX
from zombieproof.wire.plan.kinds import (
    KINDS,
    Blackhole,
    CrashBroker,
    DelayOn,
    DisconnectOn,
    Duplicate,
    Effect,
    ErrorName,
    ExpireTransaction,
    InjectError,
    Kind,
    Moment,
    MoveCoordinator,
    MoveLeader,
    Reorder,
    SkipTime,
    short,
)
from zombieproof.wire.plan.selection import Milliseconds, Part, Positive, Requests, When, WhenOrWord, one_of

SWITCHES = tuple(each.name for each in switches())


class Fault(Part):
    """One fault: the requests that it is for, one of the kinds, and when. `name` is how it is told."""

    name: str = ""
    request: Requests
    inject_error: Annotated[InjectError, short("error", str, InjectError | ErrorName)] | None = None
    disconnect_on: Annotated[DisconnectOn, short("effect", str, DisconnectOn | Effect)] | None = None
    delay_on: DelayOn | None = None
    blackhole: Annotated[Blackhole, short("effect", str, Blackhole | Effect)] | None = None
    duplicate: Duplicate | None = None
    reorder: Reorder | None = None
    crash_broker: Annotated[CrashBroker, short("moment", str, CrashBroker | Moment)] | None = None
    expire_transaction: ExpireTransaction | None = None
    move_coordinator: MoveCoordinator | None = None
    move_leader: MoveLeader | None = None
    skip_time: Annotated[SkipTime, short("ms", int, SkipTime | Milliseconds)] | None = None
    when: WhenOrWord = "once"

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        said = [name for name in KINDS if getattr(self, name) is not None]
        if len(said) != 1:
            found = " and ".join(said) or "nothing"
            raise ValueError(f"does {found}; legal is exactly one of {', '.join(KINDS)}: give each a fault of its own")
        return self

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def does(self) -> Kind:
        """What it does."""
        found: Kind = getattr(self, self.kind)
        return found

    @property
    def turns(self) -> tuple[int, int | None]:
        """The first of the requests that fit which meets it, and how many do; None: all that follow."""
        if isinstance(self.when, When):
            return (self.when.on_call, 1) if self.when.on_call is not None else (1, self.when.times)
        return (1, 1) if self.when == "once" else (1, None)


class Plan(Part):
    """Faults, and the cluster that they are meant for, for whoever makes one.

    `rules_off` are rules that the brokers do not have, `epoch_max` the last epoch of a producer id;
    `controlled_clock`: time stands still until the test moves it.
    """

    name: str = "plan"
    description: str = ""
    brokers: Annotated[int, Field(ge=1, le=9)] = 1
    topics: dict[str, Positive] = Field(default_factory=dict)
    release: str | None = Field(default=None, description="a line such as 3.9 whose rules and versions brokers have")
    transaction_version: Annotated[int, Field(ge=0, le=2)] | None = None
    rules_off: tuple[
        Annotated[str, AfterValidator(one_of("rule", SWITCHES)), Field(json_schema_extra={"enum": list(SWITCHES)})],
        ...,
    ] = ()
    epoch_max: Annotated[int, Field(ge=1, le=PRODUCER_EPOCH_MAX)] = PRODUCER_EPOCH_MAX
    controlled_clock: bool = False
    faults: tuple[Fault, ...] = ()

    @model_validator(mode="after")
    def _is_legal(self) -> Self:
        from zombieproof.wire.plan.legal import check_plan  # noqa: PLC0415  # it speaks of plans

        check_plan(self)
        return self

    def rules(self) -> Rules:
        """The rules that brokers have under this plan."""
        release = self.release or RELEASES[-1]
        if self.release is None and self.transaction_version is None:
            found = Rules()
        else:
            found = preset_for(release, self.transaction_version)
        return replace(with_switches(found, off=self.rules_off), epoch_max=self.epoch_max)
