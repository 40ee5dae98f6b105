"""The Poster's events as text."""

from collections.abc import Iterator

from service_cli.shell.render.fields import Fields, argument, at, counted, following, size, tokens, transaction
from service_cli.shell.render.screen import Fact, Item, Screen, Shown
from service_cli.shell.text import About, duration, ether, relative


def _publication_prepared(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    yield "The challenge page is published, and the service reads the same terms in it as this client."
    yield Fact("Escrow", f"{tokens(fields.whole('escrow_amount'), about.token)}, not paid yet")
    yield Fact("Submissions", f"until {at(fields.whole('submission_deadline'), screen)}")
    yield Fact("Commitment", fields.text("spec_commitment"), whole=True)


def _token_approved(fields: Fields, about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The Hub may take exactly {tokens(fields.whole('amount'), about.token)} from your account, once."
    yield from transaction(fields, about)


def _bounty_created(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    bounty_id, terms = fields.text("bounty_id"), about.terms
    if terms is None:
        yield f"{screen.good('Done.')} Bounty {bounty_id} is funded."
    else:
        award = terms.escrow_amount - terms.protocol_fee - terms.guardian_fee
        escrow = tokens(terms.escrow_amount, about.token)
        yield (
            f"{screen.good('Done.')} Bounty {bounty_id} is funded: {escrow} are in escrow, and the winner gets "
            f"{tokens(award, about.token)}."
        )
        yield Fact("Submissions", f"until {at(terms.submission_deadline, screen)}")
        yield Fact("Reveal point", at(terms.reveal_at, screen))
        yield Fact("Judging", f"until {at(terms.judging_deadline, screen)}")
    yield from transaction(fields, about)
    yield following(f"bounty:watch {bounty_id}")


def _checked(fields: Fields, about: About, screen: Screen) -> Iterator[Shown]:
    yield f"{screen.good('Ready.')} The page can be funded; nothing was signed or sent."
    yield Fact("Escrow", f"{tokens(fields.whole('escrow_amount'), about.token)}, which you pay in")
    yield Fact("Award", f"{tokens(fields.whole('winner_award'), about.token)}, the winner's")
    yield Fact("Guardian fee", tokens(fields.whole("guardian_fee"), about.token))
    yield Fact("Protocol fee", f"{tokens(fields.whole('protocol_fee'), about.token)}, due only on an award")
    yield Fact("Gas", f"at most {ether(fields.whole('gas_cost_at_most'))}, paid beside the escrow")
    yield Fact("Submissions", f"until {at(fields.whole('submission_deadline'), screen)}")
    yield Fact("Reveal point", at(fields.whole("reveal_at"), screen))
    yield Fact("Judging", f"until {at(fields.whole('judging_deadline'), screen)}")
    guardians = list(fields.rows("guardians"))
    yield Fact("Guardians", f"{len(guardians)}, of whom {fields.whole('quorum')} must agree")
    for guardian in guardians:
        active = guardian.maybe_whole("last_active_at")
        seen = "not active yet" if active is None else f"last active {relative(active, screen.now)}"
        yield Fact("", f"{guardian.text('guardian_address')}, {seen}")
    if before := fields.texts("funded_as"):
        yield Fact("Note", screen.bad(f"This page was funded before, as bounty {', '.join(before)}."))
    yield Fact("Commitment", fields.text("spec_commitment"), whole=True)
    yield Fact("Page", f"{size(fields.whole('byte_length'))}, for the Hub {fields.text('hub_address')}")
    yield following(f"poster:publish-fund {argument(about.path, 'PAGE')}")


def _template_written(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    path = fields.text("path")
    yield f"A template of a challenge page is in {path}; fill in what is in angle brackets."
    escrow, award = fields.maybe_whole("escrow_amount"), fields.maybe_whole("winner_award")
    if escrow is not None:
        yield Fact("Escrow", tokens(escrow, about.token))
    if award is not None:
        yield Fact("Award", f"{tokens(award, about.token)}, the winner's")
        yield Fact("Guardian fee", tokens(fields.whole("guardian_fee"), about.token))
        yield Fact("Protocol fee", f"{tokens(fields.whole('protocol_fee'), about.token)}, due only on an award")
    if (deadline := fields.maybe_whole("submission_deadline")) is not None:
        yield Fact("Submissions", f"until {at(deadline, screen)}")
    if (judging := fields.maybe_whole("judging_window_seconds")) is not None:
        yield Fact("Judging", f"{duration(judging)} after the reveal point")
    yield following(f"poster:check {argument(path, 'PAGE')}")


def _issue(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"line {fields.whole('line')}, {screen.strong(fields.text('field'))}: {fields.text('message', 600)}"


def _page_checked(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    if issues := fields.whole("issues"):
        yield f"{screen.bad('Not ready:')} {counted(issues, 'issue')} in {size(fields.whole('byte_length'))}."
    else:
        yield f"{screen.good('Nothing found.')} The service's review may still see what no rule does."
    if not fields.values["hub_checked"]:
        yield Fact("Not checked", "the Hub's own bounds; that takes an RPC endpoint and a Hub")
    yield Fact("Commitment", fields.text("spec_commitment"), whole=True)
    if not issues:
        yield following(f"poster:publish-fund --check {argument(about.path, 'PAGE')}")


def _key_retrieved(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The key of the winning work of bounty {fields.text('bounty_id')} is here, and it fits."


def artifact_opened(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    """Of the Poster and of Guardians."""
    count, length = fields.whole("file_count"), fields.whole("byte_length")
    files = f"{counted(count, 'file')}, {size(length)}"
    yield f"{screen.good('Done.')} The work is in {fields.text('output_dir')}: {files}."
    yield Fact("Bounty", fields.text("bounty_id"))
    yield Fact("Solver", fields.text("solver"), whole=True)
    yield Fact("Submission", fields.text("submission_commitment"), whole=True)
    if renamed := fields.whole("renamed_count"):
        names = counted(renamed, "name")
        yield Fact("Renamed", f"{names} that tools would obey: .git is inert_.git_; --original-names keeps them")


def _winning_work_opened(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    yield from artifact_opened(fields, about, screen)
    yield Fact("Next", "read it; service-cli status shows what else waits for you")


def _spec_commitment(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The spec commitment of these {size(fields.whole('byte_length'))}, the keccak256 of exactly them:"
    yield Fact("Commitment", fields.text("spec_commitment"), whole=True)


TEXTS = {
    "publish_fund.publication_prepared": _publication_prepared,
    "publish_fund.token_approved": _token_approved,
    "publish_fund.bounty_created": _bounty_created,
    "publish_fund.checked": _checked,
    "poster_new.written": _template_written,
    "poster_check.issue": _issue,
    "poster_check.finished": _page_checked,
    "open_winning_submission.key_retrieved": _key_retrieved,
    "open_winning_submission.artifact_opened": _winning_work_opened,
    "spec_commitment.derived": _spec_commitment,
}
