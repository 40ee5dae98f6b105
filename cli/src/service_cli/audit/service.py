"""Comparison of the service's answers about a final bounty with the chain.

Documents are hashed before they are read: a Verdict must state what its Guardian recorded, and the winner's envelope
must belong to its bounty, Solver, roster and reveal point. Every field of ``GET /api/bounties/{bounty_id}`` that the
interface names is compared down to its leaves; the VerificationRecord is closed, so a key it does not have is a
difference.
"""

from collections.abc import Mapping

from bounty_protocol.domain.bounty import term_differences
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.commitments import report_commitment, spec_commitment, submission_commitment
from bounty_protocol.domain.envelope import parse_envelope
from bounty_protocol.domain.envelope_checks import ExpectedEnvelope, envelope_differences
from bounty_protocol.domain.hub_events import Logged, VerdictRecorded
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.foreign_json import read_json

from service_cli.audit.collect import wanted_envelopes
from service_cli.audit.events import Difference
from service_cli.audit.history import LAST_ACTIVE, BountyHistory, ChainEvidence, ServiceEvidence, answer_of
from service_cli.audit.report import ABSENT, Report, differing, shown, tree_differences


def check_documents(history: BountyHistory, service: ServiceEvidence, report: Report) -> None:
    """Every document that the chain commits to."""
    latest = history.latest_verdicts()
    for verdict in history.verdicts:
        commitment = verdict.event.report_commitment
        document = service.verdicts.get(commitment)
        replaced = "" if latest[verdict.event.guardian] == verdict else ", replaced later"
        if document is None:
            report.not_checked("verdict", f"no document is here: {service.reason(commitment)}", commitment)
            continue
        detail = f"the reasons of {verdict.event.guardian} hash to it and say what was recorded{replaced}"
        report.judge("verdict", _verdict(history, verdict, document), detail, commitment)
    for commitment in wanted_envelopes(history):
        envelope = service.envelopes.get(commitment)
        if envelope is None:
            report.not_checked("envelope", service.reason(commitment), commitment)
        elif commitment == history.finalized.event.submission_commitment:
            detail = "the winner's envelope hashes to it and belongs to this bounty, Solver, roster and reveal point"
            report.judge("envelope", _envelope(history, envelope), detail, commitment)
            if history.chain.beacon is None:
                report.not_checked("envelope.round", "the beacon's clock is not known here", commitment)
        else:
            found = _hash_differences(submission_commitment(envelope), commitment)
            report.judge("envelope", found, "the envelope hashes to it", commitment)
    report.not_checked(
        "ciphertext",
        "sealed work is not opened here, nor whom it names inside: guardian:open and poster:open-winning-submission do",
    )


def _hash_differences(found: str, expected: str) -> list[Difference]:
    return [] if found == expected else [differing("hash", found, expected)]


def _verdict(history: BountyHistory, recorded: Logged[VerdictRecorded], document: bytes) -> list[Difference]:
    event, chain = recorded.event, history.chain
    if differences := _hash_differences(report_commitment(document), event.report_commitment):
        return differences
    try:
        written = parse_verdict(document)
    except ServiceError as error:
        return [differing("document", "; ".join(_words(issue) for issue in error.issues), "a written Verdict")]
    awarded = event.kind is VerdictKind.AWARDED
    pairs = (
        ("kind", written.kind, event.kind),
        ("chain_id", written.chain_id, chain.chain_id),
        ("hub_address", written.hub_address, chain.hub_address),
        ("bounty_id", written.bounty_id, chain.bounty_id),
        ("guardian_address", written.guardian_address, event.guardian),
        ("solver_address", written.solver_address, event.solver if awarded else None),
        ("submission_commitment", written.submission_commitment, event.submission_commitment if awarded else None),
    )
    return [differing(name, theirs, ours) for name, theirs, ours in pairs if theirs != ours]


def _envelope(history: BountyHistory, content: bytes) -> list[Difference]:
    end, chain = history.finalized.event, history.chain
    if differences := _hash_differences(submission_commitment(content), end.submission_commitment):
        return differences
    try:
        envelope = parse_envelope(content)
    except ServiceError as error:
        return [differing("envelope", "; ".join(_words(issue) for issue in error.issues), "an envelope")]
    created = history.created.event
    policy = envelope.reveal_policy if chain.beacon is None else chain.beacon.reveal_policy(created.reveal_at)
    expected = ExpectedEnvelope(
        chain_id=chain.chain_id,
        hub_address=chain.hub_address,
        bounty_id=chain.bounty_id,
        solver_address=end.winner,
        spec_commitment=created.spec_commitment,
        roster=history.roster,
        reveal_policy=policy,
    )
    return [
        differing(issue.path, issue.message, "what the chain says")
        for issue in envelope_differences(envelope, expected)
    ]


def _words(issue: Issue) -> str:
    return f"{issue.path} {issue.message}"


MAX_LISTED: int = 1_000
RECORD = "verification_record"


def check_detail(history: BountyHistory, service: ServiceEvidence, report: Report) -> None:
    """The whole detail, the page behind the commitment, and the record."""
    if service.detail is None:
        report.not_checked("bounty", f"the public detail is not here: {service.reason('detail')}")
        report.not_checked("record", f"the VerificationRecord is not here: {service.reason('detail')}")
        report.not_checked("challenge", f"the page is not here: {service.reason('detail')}")
        return
    try:
        detail = read_json(service.detail)
    except ValueError:
        detail = None
    if not isinstance(detail, dict):
        report.judge("bounty", [differing("bounty", "no JSON object", "the bounty")], "the public detail")
        return
    for name, expected in _expected_detail(history).items():
        report.compare(f"bounty.{name}", detail.get(name, ABSENT), expected, f"{name} as the chain says")
    _check_activity(history.chain, service, detail, report)
    _check_challenge(history, detail, report)
    _check_record(history, detail, report)


def _expected_detail(history: BountyHistory) -> dict[str, object]:
    created, end, chain = history.created.event, history.finalized.event, history.chain
    active = history.active_submissions()
    submissions = [
        {
            "solver_address": each.event.solver,
            "submission_commitment": each.event.submission_commitment,
            "submitted_at": each.origin.time,
            "block_number": each.origin.block_number,
            "block_hash": each.origin.block_hash,
        }
        for each in active
    ]
    winner = {"solver_address": end.winner, "submission_commitment": end.submission_commitment}
    return {
        "bounty_id": str(chain.bounty_id),
        "chain_id": chain.chain_id,
        "hub_address": chain.hub_address,
        "facts": {
            "status": "final",
            "accepting": False,
            "judgeable": False,
            "poster_address": created.poster,
            "escrow_amount": str(created.escrow_amount),
            "spec_commitment": created.spec_commitment,
            "submission_deadline": created.submission_deadline,
            "reveal_at": created.reveal_at,
            "judging_deadline": created.judging_deadline,
            "guardian_roster_hash": created.guardian_roster_hash,
            "protocol_fee": str(created.protocol_fee),
            "guardian_fee": str(created.guardian_fee),
            "outcome": end.outcome.value,
            "settlement_reason": end.reason.value,
            "winner": winner if history.bounty.winner else None,
        },
        "guardian_roster": {
            "version": history.roster.version,
            "guardian_roster_hash": history.roster.guardian_roster_hash,
            "quorum": history.roster.quorum,
            "members": [
                {"guardian_address": member.guardian_address, "encryption_public_key": member.encryption_public_key}
                for member in history.roster.members
            ],
        },
        "active_submissions": submissions[:MAX_LISTED],
        "active_submission_count": len(active),
        "finality": "finalized",
        "block": {"number": history.finalized.origin.block_number, "hash": history.finalized.origin.block_hash},
    }


def _check_activity(
    chain: ChainEvidence, service: ServiceEvidence, detail: Mapping[str, object], report: Report
) -> None:
    """Each Guardian's last sign of life: between the Hub's answer at the finalized block and its answer now.

    It moves with every Verdict of any bounty and with every heartbeat; where it did not move, there is one answer.
    """
    if LAST_ACTIVE in service.missing:
        report.not_checked("bounty.last_active_at", shown(service.missing[LAST_ACTIVE]))
        return
    known = next((answer_of(read) or {} for read in chain.reads if read.function == "getRoster"), {})
    least = known.get("last_active_at")
    roster = detail.get("guardian_roster")
    members = roster.get("members") if isinstance(roster, dict) else None
    if not isinstance(least, tuple) or len(least) != len(service.active_until):
        report.not_checked("bounty.last_active_at", "the Hub's answers name other numbers of Guardians")
        return
    found: list[Difference] = []
    for index, (first, last) in enumerate(zip(least, service.active_until, strict=True)):
        member = members[index] if isinstance(members, list) and index < len(members) else None
        stated = member.get("last_active_at", "nothing") if isinstance(member, dict) else "nothing"
        at = 0 if stated is None else stated
        if not isinstance(at, int) or isinstance(at, bool) or not first <= at <= last:
            path = f"bounty.guardian_roster.members[{index}].last_active_at"
            found.append(differing(path, stated, first if first == last else f"from {first} to {last}"))
    report.judge("bounty.last_active_at", found, "each Guardian's last sign of life is what the Hub says")


def _check_challenge(history: BountyHistory, detail: Mapping[str, object], report: Report) -> None:
    """The page hashes to the commitment; what the service shows of its terms is derived again."""
    page, error = detail.get("challenge"), detail.get("error")
    if page is None:
        code = error.get("code") if isinstance(error, dict) else None
        if code == "bounty_challenge_content_mismatch":
            report.not_checked("challenge", "the service says it has no page that hashes to spec_commitment")
        elif code == "bounty_challenge_withheld":
            report.not_checked(
                "challenge", f"withheld: {shown(error.get('message')) if isinstance(error, dict) else ''}"
            )
        else:
            report.judge("challenge", [differing("bounty.error", error, "the reason of a null challenge")], "the page")
        return
    content = page.encode("utf-8", "surrogatepass") if isinstance(page, str) else None
    found, wanted = content and spec_commitment(content), history.created.event.spec_commitment
    if content is None or found != wanted:
        report.judge("challenge", [differing("bounty.challenge", found, wanted)], "the page hashes to spec_commitment")
        return
    report.judge("challenge", _no_error(error), "the page hashes to spec_commitment")
    terms = _terms(history, content)
    report.compare("bounty.challenge_terms", detail.get("challenge_terms", ABSENT), terms, "what the page states")


def _no_error(error: object) -> list[Difference]:
    return [] if error is None else [differing("bounty.error", error, "nothing beside a page")]


def _terms(history: BountyHistory, page: bytes) -> dict[str, object]:
    created = history.created.event
    try:
        challenge = parse_challenge(page)
    except ServiceError:
        return {"matches": False}
    found = term_differences(challenge, created)
    rows = [{"field": each.field, "page": each.page, "chain": each.chain} for each in found]
    return {"matches": not rows, "differences": rows}


def _check_record(history: BountyHistory, detail: Mapping[str, object], report: Report) -> None:
    """The record, field by field; never both record and error, never neither."""
    found, error = detail.get(RECORD), detail.get(f"{RECORD}_error")
    if (found is None) == (error is None):
        both = "both" if found is not None else "neither"
        report.judge("record", [differing("bounty", both, "the record or the reason why there is none")], "the record")
        return
    if error is not None:
        code = error.get("code") if isinstance(error, dict) else error
        report.not_checked("record", f"the service has no record: {shown(code)}")
        return
    try:
        expected = history.record().to_json()
    except ServiceError as contradiction:
        report.judge("record", [differing("log", contradiction.message, "a state to derive it from")], "the record")
        return
    if not isinstance(found, dict):
        report.compare("record", found, expected, "the VerificationRecord")
        return
    for name, value in expected.items():
        report.compare(
            f"record.{name}", found.get(name, ABSENT), value, f"{name} as derived from the chain", closed=True
        )
    extra = {name: value for name, value in found.items() if name not in expected}
    report.judge("record.keys", tree_differences(extra, {}, "record", closed=True), "no keys but the record's")
