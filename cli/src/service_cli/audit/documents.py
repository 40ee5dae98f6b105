"""The documents behind the commitments on chain: written Verdicts, and envelopes where they are at hand.

Promises: bytes are hashed before they are read; a Verdict must say what its Guardian recorded, an awarded Submission's
envelope must belong to its bounty, Solver, roster and reveal point.
"""

from service_common.chain.events import VerdictRecorded
from service_common.domain.commitments import report_commitment, submission_commitment
from service_common.domain.envelope import parse_envelope
from service_common.domain.envelope_checks import ExpectedEnvelope, envelope_differences
from service_common.domain.lifecycle import VerdictKind
from service_common.domain.verdict import parse_verdict
from service_common.errors import Issue, ServiceError

from service_cli.audit.collect_service import wanted_envelopes
from service_cli.audit.evidence import ServiceEvidence
from service_cli.audit.report import Difference, Report, differing
from service_cli.audit.story import Placed, Story


def check_documents(story: Story, service: ServiceEvidence, report: Report) -> None:
    """Every document that the chain commits to."""
    latest = story.latest_verdicts()
    for verdict in story.verdicts:
        commitment = verdict.event.report_commitment
        document = service.verdicts.get(commitment)
        replaced = "" if latest[verdict.event.guardian] == verdict else ", replaced later"
        if document is None:
            report.not_checked("verdict", f"no document is here: {service.reason(commitment)}", commitment)
            continue
        detail = f"the reasons of {verdict.event.guardian} hash to it and say what was recorded{replaced}"
        report.judge("verdict", _verdict(story, verdict, document), detail, commitment)
    for commitment in wanted_envelopes(story):
        envelope = service.envelopes.get(commitment)
        if envelope is None:
            report.not_checked("envelope", service.reason(commitment), commitment)
        elif commitment == story.finalized.event.submission_commitment:
            detail = "the winner's envelope hashes to it and belongs to this bounty, Solver, roster and reveal point"
            report.judge("envelope", _envelope(story, envelope), detail, commitment)
            if story.chain.beacon is None:
                report.not_checked("envelope.round", "the beacon's clock is not known here", commitment)
        else:
            found = _hash(submission_commitment(envelope), commitment)
            report.judge("envelope", found, "the envelope hashes to it", commitment)
    report.not_checked(
        "ciphertext",
        "sealed work is not opened here, nor whom it names inside: guardian:open and poster:open-winning-submission do",
    )


def _hash(found: str, expected: str) -> list[Difference]:
    return [] if found == expected else [differing("hash", found, expected)]


def _verdict(story: Story, recorded: Placed[VerdictRecorded], document: bytes) -> list[Difference]:
    event, chain = recorded.event, story.chain
    if differences := _hash(report_commitment(document), event.report_commitment):
        return differences
    try:
        written = parse_verdict(document)
    except ServiceError as error:
        return [differing("document", "; ".join(_words(issue) for issue in error.issues), "a written Verdict")]
    awarded = event.kind == VerdictKind.AWARDED.number
    pairs = (
        ("kind", written.kind.number, event.kind),
        ("chain_id", written.chain_id, chain.chain_id),
        ("hub_address", written.hub_address, chain.hub_address),
        ("bounty_id", written.bounty_id, chain.bounty_id),
        ("guardian_address", written.guardian_address, event.guardian),
        ("solver_address", written.solver_address, event.solver if awarded else None),
        ("submission_commitment", written.submission_commitment, event.submission_commitment if awarded else None),
    )
    return [differing(name, theirs, ours) for name, theirs, ours in pairs if theirs != ours]


def _envelope(story: Story, content: bytes) -> list[Difference]:
    end, chain = story.finalized.event, story.chain
    if differences := _hash(submission_commitment(content), end.submission_commitment):
        return differences
    try:
        envelope = parse_envelope(content)
    except ServiceError as error:
        return [differing("envelope", "; ".join(_words(issue) for issue in error.issues), "an envelope")]
    created = story.created.event
    policy = envelope.reveal_policy if chain.beacon is None else chain.beacon.reveal_policy(created.reveal_at)
    expected = ExpectedEnvelope(
        chain_id=chain.chain_id,
        hub_address=chain.hub_address,
        bounty_id=chain.bounty_id,
        solver_address=end.winner,
        spec_commitment=created.spec_commitment,
        roster=story.roster,
        reveal_policy=policy,
    )
    return [
        differing(issue.path, issue.message, "what the chain says")
        for issue in envelope_differences(envelope, expected)
    ]


def _words(issue: Issue) -> str:
    return f"{issue.path} {issue.message}"
