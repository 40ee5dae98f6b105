"""What is said of one bounty: its detail, page, VerificationRecord, written Verdicts, delivery and web page."""

from typing import Any, Final

import yaml
from eth_utils.crypto import keccak

from service_audit.answers import AnswerCheck
from service_audit.chain import Moment
from service_audit.events import HubLog
from service_audit.expected import block_of, facts, record, roster, submissions, verdict_fields
from service_audit.rules import Bounty

MAX_FRONTMATTER: Final = 1 << 18
"""Characters: a whole document has no more."""
MAX_ACTIVE: Final = 1_000
"""Submissions that a detail lists."""


def check_detail(reading: AnswerCheck, number: int) -> None:
    """Compare the detail of one bounty, with its page and its record."""
    path, report = f"/api/bounties/{number}", reading.report
    found, moments = reading.get(path)
    own = [moment for moment in moments if number in moment.world.bounties]
    if not own:
        return  # a reorg took it
    bounty = own[0].world.bounties[number]

    def at(moment: Moment) -> Bounty:
        return moment.world.bounties[number]

    report.same("bounty.facts", f"{path} bounty_id", str(number), found["bounty_id"])
    report.same("bounty.facts", f"{path} hub_address", reading.chain.hub, found["hub_address"])
    report.same("bounty.facts", f"{path} chain_id", reading.chain.chain_id, found["chain_id"])
    reading.fields("bounty.facts", f"{path} facts", own, lambda m: facts(at(m), m.block.time), found["facts"])
    reading.value(
        "bounty.roster", f"{path} guardian_roster", own,
        lambda m: roster(m.world, at(m).roster), found["guardian_roster"],
    )  # fmt: skip
    if len(bounty.submissions) <= MAX_ACTIVE:
        shown = sorted(found["active_submissions"], key=lambda each: str(each["solver_address"]))
        reading.value("bounty.submissions", f"{path} active_submissions", own, lambda m: submissions(at(m)), shown)
    reading.value(
        "bounty.submissions", f"{path} active_submission_count", own,
        lambda m: len(at(m).submissions), found["active_submission_count"],
    )  # fmt: skip
    reading.value("bounty.block", f"{path} block", own, lambda m: block_of(at(m)), found["block"])
    reading.finality(path, int(found["block"]["number"]), found["finality"])
    check_challenge(reading, path, bounty, found)
    _check_record(reading, path, own[0], bounty, found)


# ---------------------------------------------------------------------- documents


def check_challenge(reading: AnswerCheck, path: str, bounty: Bounty, found: Any) -> None:
    """Hash the page of a detail; count one that is not there, of which the answer says why."""
    report, text, where = reading.report, found["challenge"], f"{path} challenge"
    title = f"/api/bounties item {bounty.id} title"
    if text is None:
        code = (found.get("error") or {}).get("code")
        if code == "bounty_challenge_withheld":  # listed in public, with the reason
            report.pass_over("bounty.challenge", where)
        else:
            reading.missing("bounty.challenge", where)
            report.same("list.title", title, None, reading.position.titles.get(bounty.id))
        known = code in {"bounty_challenge_content_mismatch", "bounty_challenge_withheld"}
        report.holds("bounty.challenge", f"{path} error", "why the challenge is null", known, code)
        return
    hashed = "0x" + keccak(text.encode()).hex()
    report.same("bounty.challenge", where, bounty.created.text("spec_commitment"), hashed)
    reading.seen_before.add(where)
    stated = _frontmatter_or_none(text)
    if bounty.id in reading.position.titles and stated is not None:
        report.same("list.title", title, stated.get("title"), reading.position.titles[bounty.id])
    own = {
        "escrow_amount": str(bounty.amount("escrow_amount")),
        "submission_deadline": str(bounty.amount("submission_deadline")),
        "judging_window_seconds": str(bounty.amount("judging_deadline") - bounty.amount("reveal_at")),
    }
    matches = stated is not None and all(stated.get(name) == value for name, value in own.items())
    report.same("bounty.challenge", f"{path} challenge_terms matches", matches, found["challenge_terms"]["matches"])


def check_verdicts(reading: AnswerCheck, bounty: Bounty) -> None:
    """Compare the written Verdict behind each recorded one; count those that are not there."""
    for log in bounty.verdicts.values():
        path = f"/api/written-verdicts/{log.text('report_commitment')}"
        answer = reading.answer(path)
        if answer.status == 451:  # listed in public, with the reason
            reading.report.pass_over("bounty.verdict", path)
        elif answer.status == 404:  # never given to this service, or kept back now
            reading.missing("bounty.verdict", path)
        elif reading.report.same("bounty.verdict", f"{path} status", 200, answer.status):
            _check_verdict(reading, path, bounty, log, answer.body)


def _check_verdict(reading: AnswerCheck, path: str, bounty: Bounty, log: HubLog, document: bytes) -> None:
    report, hashed = reading.report, "0x" + keccak(document).hex()
    if not report.same("bounty.verdict", path, log.text("report_commitment"), hashed):
        return
    reading.seen_before.add(path)
    # A Guardian commits to any bytes it likes; what the service took from one says what was recorded.
    stated, recorded = frontmatter(document.decode()), verdict_fields(log)
    expected = {
        "chain_id": str(reading.chain.chain_id),
        "hub_address": reading.chain.hub,
        "bounty_id": str(bounty.id),
        "guardian_address": log.text("guardian"),
        **{name: recorded[name] for name in ("kind", "solver_address", "submission_commitment")},
    }
    for name, value in expected.items():
        seen = stated.get(name)
        report.same("bounty.verdict", f"{path} {name}", value, seen.lower() if isinstance(seen, str) else seen)


def _frontmatter_or_none(text: str) -> dict[str, object] | None:
    """Return the frontmatter of a page; None if it has none: a Poster commits to any bytes it likes."""
    try:
        return frontmatter(text)
    except ValueError:
        return None


class _ScalarLoader(yaml.BaseLoader):
    """Texts, lists and mappings alone, and no alias: a few of them stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("an alias in a frontmatter")
        return super().compose_node(parent, index)


def frontmatter(text: str) -> dict[str, object]:
    """Return the frontmatter of a document: every scalar is its text. ``ValueError`` where there is none."""
    parts = text.split("---\n", 2)
    if len(parts) < 3 or parts[0]:
        raise ValueError("no frontmatter")
    if len(parts[1]) > MAX_FRONTMATTER:
        raise ValueError(f"a frontmatter of more than {MAX_FRONTMATTER} characters")
    try:
        found = yaml.load(parts[1], Loader=_ScalarLoader)  # noqa: S506 - makes texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"a frontmatter that is no YAML: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise ValueError("a frontmatter that is no mapping")
    return found


# ---------------------------------------------------------------------- record, delivery, pages


def _check_record(reading: AnswerCheck, path: str, moment: Moment, bounty: Bounty, found: Any) -> None:
    report, where = reading.report, f"{path} verification_record"
    shown, error = found.get("verification_record"), found.get("verification_record_error")
    report.holds("bounty.record", where, "a record or its error, never both", not (shown and error), error)
    if bounty.ended is None:
        report.holds("bounty.record", where, "no record of an open bounty", not shown and not error, shown or error)
        return
    ended = bounty.ended.place.block_number
    if shown is not None:
        expected = record(moment.world, bounty)
        for name in expected.keys() | shown.keys():
            report.same("bounty.record", f"{where} {name}", expected.get(name), shown.get(name))
        is_final = ended <= reading.chain.block("finalized").number
        report.holds("bounty.record", where, "no record before its block is final", is_final, "a record")
    elif ended <= reading.position.finalized:
        report.add("bounty.record", where, "a record", error or "neither record nor error")
    else:
        code = error["code"] if error else "neither record nor error"
        report.same("bounty.record", f"{where}_error", "not_finalized", code)


def check_delivery(reading: AnswerCheck, number: int) -> None:
    """Ask for the key of a Submission that nobody recorded; of the others the chain does not say it."""
    unknown = "0x" + keccak(f"no Submission of bounty {number}".encode()).hex()
    path = f"/api/bounties/{number}/delivery/status?submission_commitment={unknown}"
    answer = reading.answer(path)
    if reading.report.same("delivery.status", f"{path} status", 200, answer.status):
        reading.report.same("delivery.status", path, {"exists": False}, answer.json())


def check_pages(reading: AnswerCheck, number: int) -> None:
    """Compare the bytes that the pages show of a challenge, and facts that the bounty's page must have."""
    pages, report = reading.pages, reading.report
    bounty = reading.chain.world_at(reading.chain.finalized.number).bounties.get(number)
    if pages is None or bounty is None:
        return
    path = f"/bounties/{number}/challenge.md"
    answer = pages.get(path)
    if answer.status in {404, 451}:
        report.pass_over("pages.challenge", path)
    elif report.same("pages.challenge", f"{path} status", 200, answer.status):
        hashed = "0x" + keccak(answer.body).hex()
        report.same("pages.challenge", path, bounty.created.text("spec_commitment"), hashed)
    path = f"/bounties/{number}"
    answer = pages.get(path)
    if not report.same("pages.facts", f"{path} status", 200, answer.status):
        return
    text = answer.body.decode(errors="replace").lower()
    for name, value in _shown_facts(reading, bounty).items():
        report.holds("pages.facts", f"{path} {name}", value, value in text, "nothing of it")


def _shown_facts(reading: AnswerCheck, bounty: Bounty) -> dict[str, str]:
    """Return what a bounty's page shows in full, of a final one its winner and its record, too."""
    found = {"poster_address": bounty.poster, "spec_commitment": bounty.created.text("spec_commitment")}
    if bounty.ending is not None and bounty.ended is not None:
        world = reading.chain.world_at(reading.chain.finalized.number)
        found["log_digest"] = record(world, bounty)["log_digest"]
        found["settlement"] = bounty.ended.place.tx_hash
        if bounty.ending.award:
            found["winner"] = bounty.ending.winner
    return found
