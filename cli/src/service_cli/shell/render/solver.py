"""The Solver's and the Claimant's events as text. What a wallet signs or sends is never text."""

from collections.abc import Iterator

from service_cli.shell.render.fields import (
    Fields,
    argument,
    at,
    counted,
    following,
    short,
    size,
    tokens,
    transaction,
)
from service_cli.shell.render.screen import Fact, Item, Screen, Whole
from service_cli.shell.text import About, ether

_SIZE = len("999.9 bytes")


def _left_out(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield Whole(f"{'left out':>{_SIZE}}  {fields.text('path')}")


def _file(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield Whole(f"{size(fields.whole('byte_length')):>{_SIZE}}  {fields.text('path')}")  # nothing that is sealed is cut


def _checked(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    count, length = fields.whole("file_count"), fields.whole("byte_length")
    left_out = f", {counted(without, 'name')} left out" if (without := fields.whole("left_out_count")) else ""
    yield (
        f"{screen.good('Ready.')} {counted(count, 'file')} ({size(length)}) would be sealed for bounty "
        f"{fields.text('bounty_id')}{left_out}; nothing was sealed, signed or sent."
    )
    yield Fact("Submit", f"before {at(fields.whole('submission_deadline'), screen)}")
    yield Fact("Sealed", f"until {at(fields.whole('reveal_at'), screen)}; nobody can read it before")
    gas, cost = fields.whole("gas"), fields.whole("gas_cost")
    yield Fact("Gas", f"at most {ether(cost)} ({gas:,} gas); the account holds {ether(fields.whole('balance'))}")
    for warning in fields.texts("warnings"):
        yield Fact("Warning", screen.bad(warning))
    yield following(f"solver:submit {fields.text('bounty_id')} {argument(about.path, 'DIRECTORY')}")


def _uploaded(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The sealed work is uploaded ({size(fields.whole('byte_length'))}); nobody can read it yet."


def _kept(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The sealed work is on this machine only, in {fields.text('directory')}; keep it until the bounty is final."
    yield Fact("Next", "before the deadline, run it again without --without-api, or pass that folder to a Guardian")


def _prepared(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield "The service has checked the sealed work, and names the same Submission as this client."
    yield Fact("Submission", fields.text("submission_commitment"), whole=True)


def _recorded(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    bounty_id, terms = fields.text("bounty_id"), about.terms
    yield f"{screen.good('Done.')} Your Submission to bounty {bounty_id} is recorded on chain."
    if terms is not None:
        award = terms.escrow_amount - terms.protocol_fee - terms.guardian_fee
        yield Fact("Award", f"{tokens(award, about.token)}, if the Guardians choose it")
        yield Fact("Sealed", f"until {at(terms.reveal_at, screen)}")
        yield Fact("Replaceable", f"until {at(terms.submission_deadline, screen)}, by submitting again")
        yield Fact("Judging", f"until {at(terms.judging_deadline, screen)}")
    yield Fact("Submission", fields.text("submission_commitment"), whole=True)
    yield from transaction(fields, about)
    yield following(f"bounty:watch {bounty_id}")


def waiting(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    """Of claims: an outcome that is not final yet."""
    yield (
        f"The outcome of bounty {fields.text('bounty_id')} is in block {fields.whole('block_number')}, but the chain "
        f"has finalized only block {fields.whole('finalized_block_number')}; this waits until about "
        f"{at(fields.whole('final_at'), screen)}."
    )


def _claim_prepared(fields: Fields, about: About, _screen: Screen) -> Iterator[Item]:
    what = "award" if fields.text("function_name") == "claim" else "refund"
    yield (
        f"Bounty {fields.text('bounty_id')} owes {short(fields.text('claimant'))} "
        f"{tokens(fields.whole('claimable_amount'), about.token)}, the {what}."
    )


def _claimed(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} {tokens(fields.whole('claimable_amount'), about.token)} are in your account."
    yield from transaction(fields, about)
    yield following("status")


_PARTS = {
    "winner_award": "the award",
    "poster_refund": "the refund",
    "guardian_fee": "a Guardian's share",
    "protocol_fee": "the protocol fee",
}


def _due(fields: Fields, about: About, _screen: Screen) -> Iterator[Item]:
    amount = tokens(fields.whole("claimable_amount"), about.token)
    yield f"Bounty {fields.text('bounty_id')} owes you {amount}, {_PARTS[fields.text('part')]}."


def _part_claimed(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    amount, part = tokens(fields.whole("amount"), about.token), _PARTS[fields.text("part")]
    yield f"{screen.good('Claimed:')} {amount} of bounty {fields.text('bounty_id')}, {part}."
    yield from transaction(fields, about)


def _part_not_claimed(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    part = _PARTS[fields.text("part")]
    yield f"{screen.bad('Not claimed:')} {part} of bounty {fields.text('bounty_id')}. {fields.text('message')}"


def _total(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    count, left = fields.whole("parts"), fields.whole("not_claimed")
    if count:
        amount = tokens(fields.whole("amount"), about.token)
        yield f"{screen.good('Done.')} {counted(count, 'amount')}, {amount} together."
    elif left:
        yield f"{screen.bad('Nothing was claimed')} for {fields.text('claimant')}."
    else:
        so_far = " yet" if fields.texts("not_final") else ""
        yield f"Nothing is due to {fields.text('claimant')}{so_far}."
    if left:
        yield Fact("Not claimed", screen.bad(f"{counted(left, 'amount')}, which the Hub refused"))
    if waiting_for := fields.texts("not_final"):
        yield Fact("Not final", f"the outcome of bounty {', '.join(waiting_for)}; run it again later")
    yield following("status")


TEXTS = {
    "submit.left_out": _left_out,
    "submit.file": _file,
    "submit.checked": _checked,
    "submit.ciphertext_uploaded": _uploaded,
    "submit.sealed_kept": _kept,
    "submit.submission_prepared": _prepared,
    "submit.submission_recorded": _recorded,
    "claim.waiting": waiting,
    "claim.prepared": _claim_prepared,
    "claim.claimed": _claimed,
    "claim.due": _due,
    "claim.part_claimed": _part_claimed,
    "claim.part_not_claimed": _part_not_claimed,
    "claim.total": _total,
}
