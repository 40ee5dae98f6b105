"""Publishing a written Verdict and recording the same Verdict on chain.

Promises: the document is stored, read back by its commitment and compared byte for byte before the transaction that
anchors it is signed, so no Verdict on chain points at reasons nobody can read.
"""

from service_common.chain.events import VerdictRecorded
from service_common.domain.commitments import report_commitment
from service_common.domain.lifecycle import VerdictKind
from service_common.domain.verdict import WrittenVerdict, render_verdict
from service_common.types import ZERO_ADDRESS, ZERO_BYTES32, Address, BlockNumber, BountyId, Bytes32, to_bytes

from service_cli.api import api_of
from service_cli.bounty.detail import check_detail, wait_finalized
from service_cli.chain.journal import open_journal, opened_name, was_done
from service_cli.chain.receipts import Receipt, account_topic, bounty_topic, find_event
from service_cli.chain.sender import send, was_attempted
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.chain.transactions import HubCall, simulate
from service_cli.config.keys import check_document
from service_cli.config.settings import Settings
from service_cli.errors import Refused
from service_cli.shell.output import event, warn
from service_cli.shell.text import moment

_SEND = "verdict_transaction"
Named = tuple[Address, Bytes32] | None


def record_verdict(
    settings: Settings, bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes, *, replace: bool
) -> None:
    """The command ``guardian:verdict``."""
    check_document(settings.environment, body, "The Verdict's body")
    signer = local_signer(settings.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY")
    chain = ChainClient(settings)
    chain.check_deployment()
    document = render_verdict(_written(chain, signer, bounty_id, kind, named, body))
    commitment = report_commitment(document)
    call = _call(bounty_id, kind, named, commitment)
    fields: dict[str, object] = {
        "bounty_id": str(bounty_id),
        "guardian": signer.address,
        "kind": kind.value,
        "solver": named[0] if named else None,
        "submission_commitment": named[1] if named else None,
        "report_commitment": commitment,
    }
    journal_names = ("verdict", str(bounty_id), signer.address, commitment)
    with open_journal(chain.chain_id, chain.hub.address, *journal_names) as journal:
        if (done := journal.mapping("recorded")) is not None:
            if _still_counts(chain, bounty_id, signer.address, commitment, done):
                event("guardian_verdict.recorded", done)
                return
            _require_judging(chain, bounty_id)
            if not replace:
                message = "This Verdict was recorded, and you put another one in its place later."
                raise Refused("verdict_replaced", message, next_action="To put this one back, add --replace.")
            journal.forget("recorded", _SEND, f"{_SEND}_given_up")
        if not was_attempted(journal, _SEND):
            _require_judging(chain, bounty_id)
            _warn_unopened(chain, bounty_id, named)
            if not replace:
                _refuse_second(chain, bounty_id, signer.address)
            simulate(chain, signer.address, call)
            _publish(settings, chain, signer, bounty_id, document, commitment, fields)

        def fact(start: BlockNumber) -> Receipt | None:
            topics = [bounty_topic(bounty_id), account_topic(signer.address)]
            return find_event(
                chain, VerdictRecorded, start, lambda found: found.report_commitment == commitment, topics
            )

        receipt = send(chain, signer, call, journal, _SEND, fact)
        done = fields | {"tx_hash": receipt.tx_hash, "block_number": receipt.block_number}
        journal.note("recorded", done)
    event("guardian_verdict.recorded", done)


def _still_counts(
    chain: ChainClient, bounty_id: BountyId, guardian: Address, commitment: Bytes32, done: dict[str, object]
) -> bool:
    """Whether no later Verdict of this Guardian took the place of the one recorded before."""
    number = done.get("block_number")
    start = BlockNumber(number if isinstance(number, int) else 0)
    topics = [bounty_topic(bounty_id), account_topic(guardian)]
    newest = find_event(chain, VerdictRecorded, start, lambda _: True, topics)
    found = [one.report_commitment for one in newest.events if isinstance(one, VerdictRecorded)] if newest else []
    return not found or found[-1] == commitment


def _require_judging(chain: ChainClient, bounty_id: BountyId) -> None:
    """The Hub would refuse, too; here the moment is one that people read."""
    bounty, now = chain.bounty(bounty_id), chain.latest().time
    if bounty.outcome:
        message = f"Bounty {bounty_id} is final: no Verdict counts any more."
        next_action = f"See service-cli bounty:show {bounty_id}; guardian:claim-fee pays a recorded Verdict."
        raise Refused("bounty_final", message, next_action=next_action)
    if now < bounty.reveal_at:
        message = f"Judging starts at the reveal point, {moment(bounty.reveal_at, now)}."
        raise Refused("judging_not_started", message, next_action="Wait until then and try again.")


def _warn_unopened(chain: ChainClient, bounty_id: BountyId, named: Named) -> None:
    """A Guardian may have opened it elsewhere; by mistake it should award nothing that it never saw."""
    if named is None:
        return
    if not was_done(chain.chain_id, chain.hub.address, *opened_name(str(bounty_id), *named)):
        warn(f"warning: Submission {named[1]} of {named[0]} was not opened on this machine; you are about to award it")


def _refuse_second(chain: ChainClient, bounty_id: BountyId, guardian: Address) -> None:
    """A Guardian may replace its Verdict, but not by accident."""
    with chain_errors():
        recorded = chain.hub.verdict(bounty_id, guardian)
    if recorded.kind:
        kind = "awarded" if recorded.kind == VerdictKind.AWARDED.number else "no_valid_submission"
        message = f"The Hub already holds a Verdict of {guardian} on bounty {bounty_id}: {kind}."
        raise Refused("verdict_already_recorded", message, next_action="To put this one in its place, add --replace.")


def _written(
    chain: ChainClient, signer: LocalSigner, bounty_id: BountyId, kind: VerdictKind, named: Named, body: bytes
) -> WrittenVerdict:
    """The document this Guardian signs; accounts outside the pinned roster are refused before anything is sent."""
    bounty = chain.bounty(bounty_id)
    if signer.address not in chain.pinned_roster(bounty).accounts:
        message = f"{signer.address} is not on the roster that bounty {bounty_id} pinned."
        raise Refused("not_guardian", message, next_action="Use a pinned Guardian's account.")
    if named is not None:
        with chain_errors():
            active = chain.hub.submission(bounty_id, named[0])
        if active != named[1]:
            message = "The named Submission is not that Solver's active one."
            raise Refused("submission_not_active", message, next_action="guardian:judgeable lists the current ones.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        message = "The Verdict's body is not UTF-8."
        raise Refused("verdict_body_malformed", message, next_action="Save the file as UTF-8.") from None
    return WrittenVerdict(
        kind=kind,
        chain_id=chain.chain_id,
        hub_address=chain.hub.address,
        bounty_id=bounty_id,
        guardian_address=signer.address,
        solver_address=named[0] if named else None,
        submission_commitment=named[1] if named else None,
        body=text,
    )


def _publish(
    settings: Settings,
    chain: ChainClient,
    signer: LocalSigner,
    bounty_id: BountyId,
    document: bytes,
    commitment: Bytes32,
    fields: dict[str, object],
) -> None:
    api = api_of(settings, chain)
    check_detail(chain, bounty_id, chain.bounty(bounty_id), wait_finalized(api, bounty_id))
    path = f"/api/written-verdicts/{commitment}"
    api.signed(
        signer,
        "POST",
        path,
        body=document,
        media_type="text/markdown",
        words=f"publish the written Verdict {commitment} of bounty {bounty_id}",
    )
    event("guardian_verdict.published", fields)
    if api.get(path).body != document:
        message = "The written Verdict reads back differently from what was sent."
        raise Refused("verdict_mismatch", message, next_action="Nothing was recorded on chain; report it.")
    event("guardian_verdict.read_back", fields)


def _call(bounty_id: BountyId, kind: VerdictKind, named: Named, commitment: Bytes32) -> HubCall:
    solver, submission = named or (ZERO_ADDRESS, ZERO_BYTES32)
    words = f"record the Verdict {kind.value} on bounty {bounty_id}"
    if named:
        words += f" for Submission {submission} of {solver}"
    arguments = [bounty_id, kind.number, solver, to_bytes(submission), to_bytes(commitment)]
    return HubCall("recordVerdict", arguments, words)
