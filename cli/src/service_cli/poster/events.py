"""Events of the Poster's commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, TokenAmount, UnixSeconds, Wei

from service_cli.chain.events import OpenedFiles
from service_cli.poster.commitment_events import DerivedCommitment  # noqa: F401  # for the help
from service_cli.ui.event import Count, Event, Position
from service_cli.ui.items import Field, Shown
from service_cli.ui.phrases import argument, at, counted, following, size, tokens, transaction, why
from service_cli.ui.text import BountyEnd, duration, ether, relative

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class PublishedPage(Event):
    """The page is published and every field of the answer agrees; the authorization comes next."""

    EVENT: ClassVar[str] = "publish_fund.publication_prepared"
    spec_commitment: Bytes32
    byte_length: Count
    poster: Address
    hub_address: Address
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield "The challenge page is published, and the service reads the same terms in it as this client."
        yield Field("Escrow", f"{tokens(self.escrow_amount, screen)}, not paid yet")
        yield Field("Submissions", f"until {at(self.submission_deadline, screen)}")
        yield Field("Commitment", self.spec_commitment, whole=True)


@dataclass(frozen=True, slots=True)
class ApprovedAllowance(Event):
    """Only on the allowance path: the Hub may take exactly the escrow, once."""

    EVENT: ClassVar[str] = "publish_fund.token_approved"
    WHEN: ClassVar[str] = "allowance only"
    tx_hash: Bytes32
    block_number: BlockNumber
    poster: Address
    spender: Address
    amount: TokenAmount

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The Hub may take exactly {tokens(self.amount, screen)} from your account, once."
        yield from transaction(self.tx_hash, screen)


ANEW: Final = "poster:new NEW_PAGE"
"""The command that offers the text of a page anew, once its deadline has passed."""


def what_became(ended: BountyEnd, *, paid: bool) -> str:
    """The end of a Poster's bounty in a sentence."""
    reason = why(ended.reason)
    if ended.is_awarded:
        return f"It has ended, awarded: {reason}."
    back = "was claimed back" if paid else "waits for you"
    return f"It has ended without a winner: {reason}. The refund {back}."


def after_the_end(bounty_id: BountyId, ended: BountyEnd, *, paid: bool) -> str:
    """The Poster's next command once the bounty has ended."""
    if ended.is_awarded:
        return f"poster:open-winning-submission {bounty_id}"
    return f"bounty:show {bounty_id}" if paid else f"claim {bounty_id}"


@dataclass(frozen=True, slots=True)
class FundedBounty(Event):
    """The bounty is on chain. Printed again by every later run over the same page."""

    EVENT: ClassVar[str] = "publish_fund.bounty_created"
    tx_hash: Bytes32
    block_number: BlockNumber
    bounty_id: BountyId
    spec_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, terms, ended = self.bounty_id, screen.about.terms, screen.about.ended
        if ended is not None:
            yield f"Bounty {bounty_id} was funded from this page before. {what_became(ended, paid=screen.about.paid)}"
            yield from transaction(self.tx_hash, screen)
            yield following(after_the_end(bounty_id, ended, paid=screen.about.paid))
            yield Field("Once more", f"its deadline has passed: service-cli {ANEW}", whole=True)
            return
        if terms is None:
            yield f"{screen.good('Done.')} Bounty {bounty_id} is funded."
        else:
            escrow = tokens(terms.escrow_amount, screen)
            yield (
                f"{screen.good('Done.')} Bounty {bounty_id} is funded: {escrow} are in escrow, and the winner gets "
                f"{tokens(terms.award, screen)}."
            )
            yield Field("Submissions", f"until {at(terms.submission_deadline, screen)}")
            yield Field("Reveal point", at(terms.reveal_at, screen))
            yield Field("Judging", f"until {at(terms.judging_deadline, screen)}")
        yield from transaction(self.tx_hash, screen)
        yield following(f"bounty:watch {bounty_id}")


@dataclass(frozen=True, slots=True)
class ActiveGuardian:
    """A Guardian of the current roster; ``last_active_at`` is null where it has not been active yet."""

    guardian_address: Address
    last_active_at: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class FundingPreview(Event):
    """With `--check`: what funding the page would fix and cost. Times are seconds, amounts smallest units of
    `escrow_token`. `funded_as` names the bounties that exist on this page already (of `--poster-address` or the
    configured key's account, else of anyone); null where the client does not know at which block the Hub's log begins.
    `gas_cost_at_most` is in wei, at the endpoint's present fees and with the most gas that the client signs; where no
    account is known it is that of the way which costs more."""

    EVENT: ClassVar[str] = "publish_fund.checked"
    WHEN: ClassVar[str] = "with --check"
    byte_length: Count
    spec_commitment: Bytes32
    chain_id: ChainId
    hub_address: Address
    escrow_amount: TokenAmount
    escrow_token: str
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    winner_award: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    guardian_roster_hash: Bytes32
    quorum: Count
    guardians: tuple[ActiveGuardian, ...]
    gas_cost_at_most: Wei
    funded_as: tuple[BountyId, ...] | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        if not self.funded_as:
            yield f"{screen.good('Ready.')} The page can be funded; nothing was signed or sent."
        yield Field("Escrow", f"{tokens(self.escrow_amount, screen)}, which you pay in")
        yield Field("Award", f"{tokens(self.winner_award, screen)}, the winner's")
        yield Field("Guardian fee", tokens(self.guardian_fee, screen))
        yield Field("Protocol fee", f"{tokens(self.protocol_fee, screen)}, due only on an award")
        yield Field("Gas", f"at most {ether(self.gas_cost_at_most)}, paid beside the escrow")
        yield Field("Submissions", f"until {at(self.submission_deadline, screen)}")
        yield Field("Reveal point", at(self.reveal_at, screen))
        yield Field("Judging", f"until {at(self.judging_deadline, screen)}")
        yield Field("Guardians", f"{len(self.guardians)}, of whom {self.quorum} must agree")
        for guardian in self.guardians:
            active = guardian.last_active_at
            seen = "not active yet" if active is None else f"last active {relative(active, screen.now)}"
            yield Field("", f"{guardian.guardian_address}, {seen}")
        if before := self.funded_as:
            yield Field("Note", screen.bad(f"This page was funded before, as bounty {', '.join(map(str, before))}."))
        yield Field("Commitment", self.spec_commitment, whole=True)
        yield Field("Page", f"{size(self.byte_length)}, for the Hub {self.hub_address}")
        yield following(f"poster:publish-fund {argument(screen.about.path, 'PAGE')}")


@dataclass(frozen=True, slots=True)
class WrittenTemplate(Event):
    """The template is at `path`. What an option was taken for stands beside it, null without the option; with
    `--award` the escrow and who gets what of it, by the Hub's fees."""

    EVENT: ClassVar[str] = "poster_new.written"
    path: str
    escrow_amount: TokenAmount | None
    submission_deadline: UnixSeconds | None
    judging_window_seconds: Annotated[int | None, Note(minimum=1)]
    winner_award: Annotated[TokenAmount | None, OMITTED] = None
    guardian_fee: Annotated[TokenAmount | None, OMITTED] = None
    protocol_fee: Annotated[TokenAmount | None, OMITTED] = None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        path = self.path
        yield f"A template of a challenge page is in {path}; fill in what is in angle brackets."
        escrow, award = self.escrow_amount, self.winner_award
        if escrow is not None:
            yield Field("Escrow", tokens(escrow, screen))
        if award is not None and self.guardian_fee is not None and self.protocol_fee is not None:
            yield Field("Award", f"{tokens(award, screen)}, the winner's")
            yield Field("Guardian fee", tokens(self.guardian_fee, screen))
            yield Field("Protocol fee", f"{tokens(self.protocol_fee, screen)}, due only on an award")
        if (deadline := self.submission_deadline) is not None:
            yield Field("Submissions", f"until {at(deadline, screen)}")
        if (judging := self.judging_window_seconds) is not None:
            yield Field("Judging", f"{duration(judging)} after the reveal point")
        yield following(f"poster:check {argument(path, 'PAGE')}")


@dataclass(frozen=True, slots=True)
class PageIssue(Event):
    """One thing that keeps the page from being published: the line where it is, from 1, the field (`body` below the
    frontmatter, `template` for what is left of one), and what to change."""

    EVENT: ClassVar[str] = "poster_check.issue"
    WHEN: ClassVar[str] = "one for each"
    line: Position
    field: str
    message: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"line {self.line}, {screen.strong(self.field)}: {self.message}"


@dataclass(frozen=True, slots=True)
class CheckedPage(Event):
    """How many there are. `hub_checked` is whether the terms were held against the Hub's own bounds, too. Where there
    are any, `poster_check.refused` follows."""

    EVENT: ClassVar[str] = "poster_check.finished"
    spec_commitment: Bytes32
    byte_length: Count
    issues: Count
    hub_checked: bool

    def text(self, screen: "Screen") -> Iterator[Shown]:
        if issues := self.issues:
            yield f"{screen.bad('Not ready:')} {counted(issues, 'issue')} in {size(self.byte_length)}."
        else:
            yield f"{screen.good('Nothing found.')} The service's review may still see what no rule does."
        if not self.hub_checked:
            yield Field("Not checked", "the Hub's own bounds; that takes an RPC endpoint and a Hub")
        yield Field("Commitment", self.spec_commitment, whole=True)
        if not issues:
            yield following(f"poster:publish-fund --check {argument(screen.about.path, 'PAGE')}")


@dataclass(frozen=True, slots=True)
class FittingKey(Event):
    """The content key came and is the envelope's."""

    EVENT: ClassVar[str] = "open_winning_submission.key_retrieved"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The key of the winning work of bounty {self.bounty_id} is here, and it fits."


@dataclass(frozen=True, slots=True)
class OpenedWinningWork(OpenedFiles):
    __doc__ = OpenedFiles.__doc__
    EVENT: ClassVar[str] = "open_winning_submission.artifact_opened"

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield from self.opened(screen)
        yield Field("Next", "read it; service-cli status shows what else waits for you")
