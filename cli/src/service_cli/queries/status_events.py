"""Events of ``status`` and ``doctor``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from bounty_protocol.types import Address, BountyId, TokenAmount, UnixSeconds, Wei

from service_cli.ui.event import Count, Event

Role = Literal["poster", "solver", "guardian", "claimant"]
TaskKind = Literal["judge", "deliver", "claim", "claim_fee", "open", "reupload"]


_TASKS: Final[Mapping[TaskKind, str]] = {
    "judge": "it waits for your Verdict",
    "deliver": "its Poster waits for the winning work's key",
    "claim": "the award or the refund is yours to claim",
    "claim_fee": "your Guardian's share is yours to claim",
    "open": "the winning work can be opened",
    "reupload": "the service lost your sealed work: upload it again",
}


@dataclass(frozen=True, slots=True)
class AccountStatus(Event):
    """One of your accounts: each whose key is configured, and those of `--address`. `allowance` is what the Hub may
    take."""

    EVENT: ClassVar[str] = "status.account"
    WHEN: ClassVar[str] = "one for each"
    SAYS: ClassVar[str] = "{account}"
    account: Address
    roles: tuple[Role, ...]
    balance_wei: Wei
    token_balance: TokenAmount
    allowance: TokenAmount


@dataclass(frozen=True, slots=True)
class WaitingTask(Event):
    """An account's next steps, each with its command, soonest deadline first; `until` is chain time, null if
    nothing ends it."""

    EVENT: ClassVar[str] = "status.task"
    WHEN: ClassVar[str] = "soonest deadline first"
    account: Address
    bounty_id: BountyId
    task: TaskKind
    until: UnixSeconds | None
    command: str

    def says(self) -> str:
        return f"Bounty {{bounty_id}}: {_TASKS[self.task]}."


@dataclass(frozen=True, slots=True)
class StatusTotal(Event):
    """How many accounts were looked at, how many tasks wait, and how much could not be looked at: where `unknown` is
    not 0, more may wait. An account with more bounties than are looked at is counted there, too."""

    EVENT: ClassVar[str] = "status.done"
    accounts: Count
    tasks: Count
    unknown: Count

    def says(self) -> str:
        if not self.accounts:
            return "No key is configured and no --address is given. service-cli doctor checks what is set."
        waiting = "Nothing waits for you"
        if self.tasks:
            waiting = "1 thing waits for you" if self.tasks == 1 else f"{self.tasks} things wait for you"
        return f"{waiting}, as far as is known: not everything could be checked." if self.unknown else f"{waiting}."

    def facts(self, now: int) -> object:
        return None


@dataclass(frozen=True, slots=True)
class DoctorCheck(Event):
    """One check; `fix` is how to correct it, null if it holds. `settings` is of every value that is set, also of
    those that only some commands need. `env_file` is there only where something is taken from a `.env`. Where the check
    of the chain failed, those that hang on it are skipped: not `ok`, and their `detail` states it."""

    EVENT: ClassVar[str] = "doctor.check"
    WHEN: ClassVar[str] = "one for each check"
    name: str
    ok: bool
    detail: str
    fix: str | None

    def says(self) -> str:
        mark = "ok" if self.ok else "skip" if self.detail.startswith("skipped") else "FAIL"
        return f"{mark} {{name}}: {{detail}}"

    def facts(self, now: int) -> object:
        return None if self.ok else _DoctorFix(self.fix or "see docs/client.md")


@dataclass(frozen=True, slots=True)
class _DoctorFix:
    fix: str
