"""``bounty:show`` as text: a bounty on one page, for a terminal."""

from collections.abc import Iterator

from bounty_protocol.domain.challenge import ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.domain.lifecycle import Schedule
from bounty_protocol.domain.record import VerificationRecord
from bounty_protocol.errors import ServiceError
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.reading import read

from service_cli.ui.items import Field, Heading, Item, Whole
from service_cli.ui.phrases import at, counted, safe, tokens, why
from service_cli.ui.progress import next_step
from service_cli.ui.render.markdown import markdown_items, plain_items
from service_cli.ui.render.record import record_items
from service_cli.ui.render.screen import Screen
from service_cli.ui.text import relative, withheld_text

_MOST_SUBMISSIONS = 20


def bounty_page(detail: BountyDetail, screen: Screen) -> Iterator[Item]:
    """The whole bounty."""
    page = _page_of(detail)
    title = "" if page is None else f": {safe(page.title, 200)}"
    yield Heading(f"Bounty {detail.bounty_id}{title}")
    yield _state(detail, screen)
    yield from _money(detail, screen)
    yield from _times(detail, screen)
    yield from _people(detail, screen)
    if detail.verification_record is not None:
        yield from record_items(read(VerificationRecord, detail.verification_record), screen)
    yield from _challenge(detail, page)
    yield Heading("Next")
    yield _next(detail, screen)


def _page_of(detail: BountyDetail) -> ChallengePage | None:
    """The page, if it hashes to the commitment and has the form of one."""
    text = detail.challenge
    try:
        if text is None or spec_commitment(text.encode()) != detail.facts.spec_commitment:
            return None
        return parse_challenge(text.encode())
    except (ServiceError, UnicodeEncodeError):
        return None


def _schedule(detail: BountyDetail) -> Schedule:
    facts = detail.facts
    return Schedule(facts.submission_deadline, facts.reveal_at, facts.judging_deadline)


def _state(detail: BountyDetail, screen: Screen) -> str:
    facts, count = detail.facts, detail.active_submission_count
    if facts.outcome is None:
        step = next_step(_schedule(detail), screen.now, has_submissions=count > 0, is_final=False)
        return f"Open; {step.text}."
    reason = "" if facts.settlement_reason is None else f": {why(facts.settlement_reason.value)}"
    if facts.winner is None:
        return f"Final, without a winner{reason}."
    return f"Final, and {screen.good('awarded')} to {facts.winner.solver_address}{reason}."


def _next(detail: BountyDetail, screen: Screen) -> Item:
    """The next command. No key is read to look at a bounty, so a claim is shown with who can make it."""
    facts, bounty_id = detail.facts, detail.bounty_id
    if facts.outcome is not None:
        who = "Poster" if facts.winner is None else "winner"
        return Field(f"The {who}", f"claims with service-cli claim {bounty_id}", whole=True)
    if screen.now < facts.submission_deadline:
        return Whole(f" service-cli solver:submit --check {bounty_id} DIRECTORY")
    return Whole(f" service-cli bounty:watch {bounty_id}")


def _money(detail: BountyDetail, screen: Screen) -> Iterator[Item]:
    facts = detail.facts
    award = facts.escrow_amount - facts.protocol_fee - facts.guardian_fee
    yield Heading("Money")
    yield Field("Escrow", tokens(facts.escrow_amount, screen))
    yield Field("Award", f"{tokens(award, screen)}, the winner's")
    yield Field("Guardian fee", f"{tokens(facts.guardian_fee, screen)}, shared by those who record a Verdict")
    yield Field("Protocol fee", f"{tokens(facts.protocol_fee, screen)}, due only on an award")


def _times(detail: BountyDetail, screen: Screen) -> Iterator[Item]:
    schedule = _schedule(detail)
    yield Heading("Times")
    yield Field("Submissions", f"until {at(schedule.submission_deadline, screen)}")
    yield Field("Reveal point", at(schedule.reveal_at, screen))
    yield Field("Judging", f"until {at(schedule.judging_deadline, screen)}")


def _people(detail: BountyDetail, screen: Screen) -> Iterator[Item]:
    roster = detail.guardian_roster
    yield Heading(f"Guardians ({roster.quorum} of {len(roster.members)} must agree)")
    for member in roster.members:
        active = member.last_active_at
        seen = "not active yet" if not active else f"last active {relative(active, screen.now)}"
        yield Field("", f"{member.guardian_address}, {seen}")
    yield Heading(f"Submissions ({detail.active_submission_count})")
    for each in detail.active_submissions[:_MOST_SUBMISSIONS]:
        yield Field("", f"{each.solver_address}, {relative(each.submitted_at, screen.now)}")
        yield Field("", each.submission_commitment, whole=True)
    if (more := detail.active_submission_count - min(_MOST_SUBMISSIONS, len(detail.active_submissions))) > 0:
        yield Field("", f"and {counted(more, 'more Submission')}; without --text all are listed")
    yield Heading("Poster")
    yield Field("", detail.facts.poster_address)


def _challenge(detail: BountyDetail, page: ChallengePage | None) -> Iterator[Item]:
    yield Heading("Challenge page")
    if detail.withheld is not None:
        yield Field("", f"It is {withheld_text(detail.withheld)}.")
        yield Field(
            "", "Everything else is shown as the chain has it. Take part with the page that the Poster gives you;"
        )
        yield Field("", "service-cli spec-commitment FILE shows whether it is the one of this bounty:")
        yield Field("", detail.facts.spec_commitment, whole=True)
        return
    if detail.challenge is None:
        yield Field("", "It is not available, or not the one that was committed.")
        return
    if page is None:
        yield Field("", "It is not the one that was committed, or not in the form of a page; it is shown as it came.")
        yield from plain_items(detail.challenge)
        return
    terms = detail.challenge_terms
    if terms is not None and not terms.matches:
        yield Field("Note", "The page states other terms than the chain; the chain's count.")
    yield Field("Summary", safe(page.summary, 1_000))
    for criterion in page.acceptance_criteria:
        yield Field("Accepted if", safe(criterion, 1_000))
    for deliverable in page.deliverables:
        yield Field("Deliver", safe(deliverable, 1_000))
    if page.tags:
        yield Field("Tags", ", ".join(page.tags))
    if page.contact is not None:
        yield Field("Contact", safe(page.contact))
    yield from markdown_items(page.body)
