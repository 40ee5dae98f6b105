"""``poster:open-winning-submission``: the winning work, opened by the Poster who paid for it.

The content key comes sealed to a one-time key that lives in this process only; envelope and ciphertext are checked
against the winning commitment on chain before anything is written.
"""

from pathlib import Path

from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.delivery import RetrievedKey

from service_cli.chain.journal import OPENED_WINNER
from service_cli.chain.session import ChainClient, Session
from service_cli.chain.signer import LocalSigner, local_signer
from service_cli.config.environment import POSTER_KEY
from service_cli.config.settings import Settings
from service_cli.errors import CommandRefused
from service_cli.queries.next_steps import STATUS, for_poster
from service_cli.queries.state import read_state, require_same
from service_cli.ui.arguments import require_new
from service_cli.work.events import OpenedWinningWork
from service_cli.work.submission import check_envelope, fetch_submission, write_artifact


def open_winning_submission(
    settings: Settings, bounty_id: BountyId, output_dir: Path | None, *, original_names: bool
) -> OpenedWinningWork:
    """Run the command ``poster:open-winning-submission``."""
    session = Session(ChainClient(settings), local_signer(settings, POSTER_KEY))
    chain = session.chain
    state = read_state(chain, bounty_id)
    bounty = state.bounty
    if bounty.outcome is not Outcome.AWARDED:
        what = "is not awarded yet" if bounty.outcome is None else "ended without a winner"
        message = f"Bounty {bounty_id} {what}: there is no winning work to open."
        raise CommandRefused("not_awarded", message, next_action=f"Run {for_poster(bounty_id, bounty)}.")
    if bounty.poster != session.account:
        message = f"{session.account} is not the Poster of bounty {bounty_id}."
        raise CommandRefused("not_the_poster", message, next_action="Use the funding Poster's account.")
    target = output_dir or Path("winning-submission") / str(bounty_id) / bounty.winning_submission
    require_new(target)
    require_same(chain, state, session.api)

    winner = (bounty.winner, bounty.winning_submission)
    fresh = Identity.generate()
    try:
        wrapped_key = _retrieve(session, bounty_id, winner, fresh)
    except CommandRefused as refused:
        if refused.code != "winning_solution_key_not_found":
            raise
        guardians = ", ".join(state.roster.accounts)
        message = f"No Guardian has delivered the winning key yet. Each Guardian of this bounty can: {guardians}."
        command = f"service-cli guardian:deliver-key {bounty_id} {bounty.winner} {bounty.winning_submission}"
        next_action = f"Ask one of them to run {command}, then run this again."
        raise CommandRefused(refused.code, message, next_action=next_action) from None
    submission = fetch_submission(session.api, session.signer, bounty_id, winner)
    check_envelope(chain, submission, state, None)
    identity = sealed_box.unwrap(wrapped_key, [fresh], submission.envelope.content_public_key)
    done = write_artifact(
        submission, identity, target, OpenedWinningWork, original_names=original_names, following=STATUS
    )
    chain.records.note_done(OPENED_WINNER, str(bounty_id), bounty.winning_submission)
    return done


def _retrieve(
    session: Session[LocalSigner], bounty_id: BountyId, winner: tuple[Address, Bytes32], fresh: Identity
) -> str:
    """Return the content key sealed to a fresh key; the answer must name the contract's winner."""
    answer = session.api.signed(
        session.signer,
        "POST",
        f"/api/bounties/{bounty_id}/delivery/retrieve",
        body=f'{{"poster_ephemeral_public_key":"{fresh.public_key}"}}'.encode(),
        media_type="application/json",
        summary=f"retrieve the winning key of bounty {bounty_id}, sealed to a one-time key",
    ).read(RetrievedKey)
    if (answer.solver_address, answer.submission_commitment) != winner:
        message = "The API delivers a Submission other than the winner on chain."
        raise CommandRefused(
            "winner_mismatch", message, next_action="Do not use the answer; report it to the operator."
        )
    return answer.wrapped_key
