"""Events of ``status`` and ``doctor``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from bounty_protocol.types import Address, BountyId, TokenAmount, UnixSeconds, Wei

from service_cli.ui.event import Count, Event
from service_cli.ui.items import Column, Field, Heading, Row, Shown
from service_cli.ui.phrases import time_left, to_the_minute, tokens
from service_cli.ui.progress import Step
from service_cli.ui.text import ether

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


Role = Literal["poster", "solver", "guardian", "claimant"]
TaskKind = Literal["judge", "deliver", "claim", "claim_fee", "open", "reupload"]


@dataclass(frozen=True, slots=True)
class AccountStatus(Event):
    """One of your accounts: each whose key is configured, and those of `--address`. `allowance` is what the Hub may
    take."""

    EVENT: ClassVar[str] = "status.account"
    WHEN: ClassVar[str] = "one for each"
    account: Address
    roles: tuple[Role, ...]
    balance_wei: Wei
    token_balance: TokenAmount
    allowance: TokenAmount

    def text(self, screen: "Screen") -> Iterator[Shown]:
        roles = ", ".join(role.capitalize() for role in self.roles)
        yield Heading(self.account)
        yield Field("Roles", roles or "none whose key is configured")
        yield Field("Holds", f"{tokens(self.token_balance, screen)}, {ether(self.balance_wei)}")
        if allowed := self.allowance:
            yield Field("The Hub may", f"take {tokens(allowed, screen)} of it")


_TASKS: Final = (Column("BOUNTY"), Column("WHAT"), Column("LEFT"), Column("UNTIL (UTC)", optional=1))
_WHAT: Final = {
    "judge": "judge",
    "claim": "claim",
    "claim_fee": "claim your share",
    "open": "open the work",
    "reupload": "upload lost work again",
}


@dataclass(frozen=True, slots=True)
class WaitingTask(Event):
    """An account's next steps, each with its command, soonest deadline first; `until` is chain time, null where
    nothing ends it."""

    EVENT: ClassVar[str] = "status.task"
    WHEN: ClassVar[str] = "soonest deadline first"
    account: Address
    bounty_id: BountyId
    task: TaskKind
    until: UnixSeconds | None
    command: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        what, until = _WHAT.get(self.task, self.task), self.until
        cells = (str(self.bounty_id), what, time_left(until, screen), to_the_minute(until))
        yield Row(_TASKS, cells, note=self.command)


_RUNNING: Final = (
    Column("RUNNING"),
    Column("YOU ARE"),
    Column("STAGE"),
    Column("LEFT"),
    Column("UNTIL (UTC)", optional=1),
)
_STAGES: Final[Mapping[str, str]] = {
    "submissions": "accepts Submissions",
    "reveal": "sealed",
    "judging": "is judged",
    "settlement": "time is up: anyone settles it",
    "delivery": "won: a Guardian has to deliver the key",
}


@dataclass(frozen=True, slots=True)
class RunningBounty(Event):
    """An open bounty that this account funded (`poster`), submitted to (`solver`) or will judge (`guardian`, before the
    reveal point): the step it is in by the contract, and the step's end in chain time, null where only people decide.
    With the step `delivery` it was awarded, and its Poster can open the work once a Guardian has delivered the key."""

    EVENT: ClassVar[str] = "status.running"
    WHEN: ClassVar[str] = "one for each, by when its step ends"
    account: Address
    bounty_id: BountyId
    role: Literal["poster", "solver", "guardian"]
    step: Literal[Step, "delivery"]
    at: UnixSeconds | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        stage = _STAGES.get(self.step, self.step)
        left, until = time_left(self.at, screen), to_the_minute(self.at)
        yield Row(_RUNNING, (str(self.bounty_id), self.role.capitalize(), stage, left, until))


@dataclass(frozen=True, slots=True)
class StatusTotal(Event):
    """How many accounts were looked at, how many tasks wait, and how much could not be looked at: where `unknown` is
    not 0, more may wait. An account with more bounties than are looked at is counted there, too."""

    EVENT: ClassVar[str] = "status.done"
    accounts: Count
    tasks: Count
    unknown: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        accounts, tasks = self.accounts, self.tasks
        if not accounts:
            yield "No key is configured and no --address is given, so there is no account to look at."
            yield Field("Next", "service-cli doctor looks at what is set", whole=True)
        elif tasks:
            yield (
                "1 thing waits for you." if tasks == 1 else f"{tasks} things wait for you, the soonest deadline first."
            )
        else:
            yield "Nothing that is known waits for you." if self.unknown else "Nothing waits for you."
        if self.unknown:
            yield "Not everything could be looked at: more may wait."


@dataclass(frozen=True, slots=True)
class DoctorCheck(Event):
    """One check; `fix` is how to correct it, null where it holds. `settings` is of every value that is set, also of
    those that only some commands need. `env_file` is there only where something is taken from a `.env`. Where the check
    of the chain failed, those that hang on it are skipped: not `ok`, and their `detail` states it."""

    EVENT: ClassVar[str] = "doctor.check"
    WHEN: ClassVar[str] = "one for each check"
    name: str
    ok: bool
    detail: str
    fix: str | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        name, detail, fix = self.name, self.detail, self.fix
        if self.ok:
            yield f"{screen.good('ok')}    {screen.strong(name)}: {detail}"
        elif detail.startswith("skipped"):
            yield f"{screen.quiet('skip')}  {screen.strong(name)}: {detail}"
        else:
            yield f"{screen.bad('FAIL')}  {screen.strong(name)}: {detail}"
            yield Field("Fix", fix or "see docs/client.md")
