"""Events of ``status`` and ``doctor``, and the common parts of several roles' events."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

from bounty_protocol.domain.hub_notice import STATES, NoticeReason
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, TokenAmount, UnixSeconds, Wei

from service_cli.shell.event import Count, Event, JsonObject
from service_cli.shell.items import Column, Field, Heading, Row, Shown
from service_cli.shell.phrases import at, counted, size, time_left, to_the_minute, tokens
from service_cli.shell.progress import Step
from service_cli.shell.text import ether

if TYPE_CHECKING:
    from service_cli.shell.render.screen import Screen


@dataclass(frozen=True, slots=True)
class OpenedFiles(Event):
    """The files are below `output_dir`, all of them authentic. `bound` is false where the archive does not name its
    bounty and Solver, as the format's version 1 allowed: those bytes alone do not show whose work it is.
    `renamed_count` names, directories included, were laid out as others because tools would obey them
    ([judging.md](judging.md))."""

    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    output_dir: str
    file_count: Count
    byte_length: Count
    bound: bool
    renamed_count: Count

    def opened(self, screen: "Screen") -> Iterator[Shown]:
        """Where the work is, and whose."""
        files = f"{counted(self.file_count, 'file')}, {size(self.byte_length)}"
        yield f"{screen.good('Done.')} The work is in {self.output_dir}: {files}."
        yield Field("Bounty", str(self.bounty_id))
        yield Field("Solver", self.solver, whole=True)
        yield Field("Submission", self.submission_commitment, whole=True)
        if self.renamed_count:
            names = counted(self.renamed_count, "name")
            yield Field("Renamed", f"{names} that tools would obey: .git is inert_.git_; --original-names keeps them")


@dataclass(frozen=True, slots=True)
class UnfinalizedOutcome(Event):
    """Once, where the outcome is in block `block_number` and the chain has finalized only `finalized_block_number`:
    the command waits. `final_at` is about when it will go on, by the chain's time and how far finality is behind
    now."""

    bounty_id: BountyId
    block_number: BlockNumber
    finalized_block_number: BlockNumber
    final_at: UnixSeconds

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield (
            f"The outcome of bounty {self.bounty_id} is in block {self.block_number}, but the chain "
            f"has finalized only block {self.finalized_block_number}; this waits until about "
            f"{at(self.final_at, screen)}."
        )


@dataclass(frozen=True, slots=True)
class UnsentCall(Event):
    """A call of the Hub for a wallet outside to send."""

    FOR_PROGRAMS: ClassVar[bool] = True

    chain_id: ChainId
    to: Address
    value: Literal["0"]
    data: Annotated[str, Note(pattern="^0x([0-9a-f]{2})*$")]
    function_name: str


@dataclass(frozen=True, slots=True)
class ForcedCall(Event):
    """Only with `--forced`: FILE holds the call of the rollup's portal at `to` on chain `chain_id`, for `account` to
    send there itself; nothing was sent. It counts by `counts_by` at the latest, which is before `deadline`, null where
    the act has none."""

    WHEN: ClassVar[str] = "with --forced"

    bounty_id: BountyId
    account: Address
    chain_id: ChainId
    to: Address
    counts_by: UnixSeconds
    deadline: UnixSeconds | None
    file: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The call is in {self.file}. It was not sent."
        yield Field("Send", f"its data on chain {self.chain_id}, from the account itself, to the portal")
        yield Field("From", self.account, whole=True)
        yield Field("To", self.to, whole=True)
        yield Field("Counts", f"by {at(self.counts_by, screen)} at the latest, if it is sent within an hour")
        if self.deadline is not None:
            yield Field("Deadline", at(self.deadline, screen))
        yield Field("Then", "run the command again without --forced: it finds what the chain recorded")


@dataclass(frozen=True, slots=True)
class ApprovalRequired(Event):
    """Only with `--solver-address` and without `--browser`: sign `typed_data` in the wallet and answer with one line
    of hex on stdin. `typed_data` keeps the key names of EIP-712."""

    EVENT: ClassVar[str] = "submit.approval_required"
    WHEN: ClassVar[str] = "with --solver-address; answer on stdin, or with --browser on the page instead"
    FOR_PROGRAMS: ClassVar[bool] = True
    solver: Address
    typed_data: JsonObject


Role = Literal["poster", "solver", "guardian", "claimant"]
TaskKind = Literal["judge", "deliver", "claim", "claim_fee", "open", "put_back"]


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
    "put_back": "put back lost work",
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
    """How many accounts were looked at, and how many tasks wait."""

    EVENT: ClassVar[str] = "status.done"
    accounts: Count
    tasks: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        accounts, tasks = self.accounts, self.tasks
        if not accounts:
            yield "No key is configured and no --address is given, so there is no account to look at."
            yield Field("Next", "service-cli config shows what is set", whole=True)
        elif not tasks:
            yield "Nothing waits for you."
        else:
            yield (
                "1 thing waits for you." if tasks == 1 else f"{tasks} things wait for you, the soonest deadline first."
            )


@dataclass(frozen=True, slots=True)
class DoctorCheck(Event):
    """One check; `fix` is how to correct it, null where it holds. `env_file` is there only where something is taken
    from a `.env`. Where the check of the chain failed, those that hang on it are skipped: not `ok`, and their
    `detail` states it."""

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
            yield Field("Fix", fix or "see service-cli config")


@dataclass(frozen=True, slots=True)
class FoundNotice(Event):
    """The latest notice about the Hub of one account that the Hub's owner names for them, as the chain bears it out.
    With the reason `withdrawn` it ends what the account signed before."""

    EVENT: ClassVar[str] = "notice.found"
    WHEN: ClassVar[str] = "once for the latest of each signer"
    signer: Address
    reason: NoticeReason
    issued_at: UnixSeconds
    expires_at: UnixSeconds

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.strong('A notice about the Hub')}: {STATES[self.reason]}."
        yield Field("Signed by", self.signer, whole=True)
        yield Field("Until", f"{at(self.expires_at, screen)}, signed {at(self.issued_at, screen)}")


@dataclass(frozen=True, slots=True)
class CheckedNotices(Event):
    """Whether a notice is in effect: then no bounty is funded, and work is submitted only with `--despite-notice`."""

    EVENT: ClassVar[str] = "notice.checked"
    in_effect: bool

    def text(self, screen: "Screen") -> Iterator[Shown]:
        if self.in_effect:
            yield f"{screen.bad('Fund no bounty')} on this Hub: a notice is in effect. This client does not."
        else:
            yield f"{screen.good('No notice')} about this Hub is in effect."
