"""From a page to a funded bounty: publication, own derivation, authorization, ``createBountyWithAuthorization``.

Promises: nothing is signed for the Hub before the page was published and the answer agreed with what is derived here
from the page's bytes and the Hub itself; the terms (salt included) are in the journal before the authorization is
signed and are never drawn again, so whatever happens the Hub can take this page's money once.
"""

import secrets
from dataclasses import dataclass

from service_common.chain.eip3009 import authorization_typed_data
from service_common.chain.events import BountyCreated
from service_common.chain.hub_constants import read_token
from service_common.domain.abi_hashes import authorization_nonce
from service_common.domain.challenge import ChallengePage, parse_challenge
from service_common.domain.commitments import spec_commitment
from service_common.domain.money import fee_amount
from service_common.domain.terms import Terms
from service_common.types import Address, Bytes32, UnixSeconds, bytes32

from service_cli.client.api import ApiClient
from service_cli.client.chain import ChainClient, chain_errors
from service_cli.client.journal import Journal, open_journal
from service_cli.client.sender import HubCall, Receipt, send
from service_cli.client.signer import LocalSigner, local_signer
from service_cli.outcome import Refused
from service_cli.output import event, say
from service_cli.settings import Settings

AUTHORIZATION_SECONDS = 3_600
_SEND = "create_transaction"
_DISAGREES = "Do not fund: the API and this client disagree. Check the configuration, then report it."


@dataclass(frozen=True, slots=True)
class Authorization:
    """A signed token authorization, good for exactly one set of terms."""

    terms: Terms
    valid_before: UnixSeconds
    signature: bytes


def publish_and_fund(settings: Settings, page: bytes) -> None:
    """The command ``poster:publish-fund``."""
    challenge = parse_challenge(page)
    commitment = spec_commitment(page)
    signer = local_signer(settings.environment, "SERVICE_POSTER_PRIVATE_KEY")
    chain = ChainClient(settings)
    chain.check_deployment()
    with open_journal(chain.chain_id, chain.hub.address, "publish", signer.address, commitment) as journal:
        if (done := journal.mapping("bounty_created")) is not None:
            say("this page is funded already")
            event("publish_fund.bounty_created", done)
            return
        if journal.text(_SEND) is None:
            _publish(settings, chain, signer, page, commitment, challenge)
        receipt = _fund(chain, signer, challenge, commitment, journal)
        _conclude(receipt, commitment, journal)


def _publish(
    settings: Settings,
    chain: ChainClient,
    signer: LocalSigner,
    page: bytes,
    commitment: Bytes32,
    challenge: ChallengePage,
) -> None:
    """Publish the exact bytes and hold the answer against what is derived here."""
    _check_balance(chain, signer.address, challenge)
    answer = (
        ApiClient(settings.api_base_url(), chain)
        .signed(
            signer,
            "POST",
            "/api/bounty-challenge-specs/prepare-publication",
            query={"poster_address": signer.address},
            body=page,
            media_type="text/markdown",
            words=f"publish this challenge page ({len(page)} bytes, {commitment}) as {signer.address}",
            retry=(502, 503),
        )
        .json()
    )
    roster = answer.get("guardian_roster")
    compared = (
        ("spec_commitment", answer.get("spec_commitment"), commitment),
        ("byte_length", answer.get("byte_length"), len(page)),
        ("chain_id", answer.get("chain_id"), chain.chain_id),
        ("hub_address", answer.get("hub_address"), chain.hub.address),
        ("escrow_token_address", answer.get("escrow_token_address"), settings.escrow_token()),
        ("poster_address", answer.get("poster_address"), signer.address),
        (
            "guardian_roster_hash",
            roster.get("guardian_roster_hash") if isinstance(roster, dict) else None,
            chain.current_roster().guardian_roster_hash,
        ),
    )
    for name, theirs, ours in compared:
        if theirs != ours:
            raise Refused("publication_mismatch", f"The API's {name} is not {ours}.", next_action=_DISAGREES)
    event(
        "publish_fund.publication_prepared",
        {
            "spec_commitment": commitment,
            "byte_length": len(page),
            "poster": signer.address,
            "hub_address": chain.hub.address,
            "escrow_amount": str(challenge.escrow_amount),
            "submission_deadline": challenge.submission_deadline,
        },
    )


def _fund(
    chain: ChainClient, signer: LocalSigner, challenge: ChallengePage, commitment: Bytes32, journal: Journal
) -> Receipt:
    authorization = _authorization(chain, signer, challenge, commitment, journal)
    call = HubCall(
        "createBountyWithAuthorization",
        [
            authorization.terms.as_tuple(),
            signer.address,
            0,
            authorization.valid_before,
            authorization.signature,
        ],
        f"create the bounty with an escrow of {challenge.escrow_amount} base units",
    )
    return send(chain, signer, call, journal, _SEND)


def _authorization(
    chain: ChainClient, signer: LocalSigner, challenge: ChallengePage, commitment: Bytes32, journal: Journal
) -> Authorization:
    """The authorization of an earlier run while it is good, else a new one over the same salt."""
    kept = journal.mapping("authorization")
    if kept is not None and int(str(kept["valid_before"])) > chain.latest().time:
        terms = Terms.from_args(list(kept["terms"]) if isinstance(kept["terms"], list) else [])
        return Authorization(terms, UnixSeconds(int(str(kept["valid_before"]))), bytes.fromhex(str(kept["signature"])))
    terms = _terms(chain, challenge, commitment, journal)
    valid_before = UnixSeconds(chain.latest().time + AUTHORIZATION_SECONDS)
    with chain_errors():
        token = read_token(chain.rpc, chain.settings.escrow_token())
    typed = authorization_typed_data(
        token,
        chain.chain_id,
        owner=signer.address,
        payee=chain.hub.address,
        value=terms.escrow_amount,
        valid_after=UnixSeconds(0),
        valid_before=valid_before,
        nonce=authorization_nonce(chain.chain_id, chain.hub.address, signer.address, terms),
    )
    words = (
        f"let the Hub {chain.hub.address} take {terms.escrow_amount} base units of {token.symbol} for exactly these "
        f"terms: page {commitment}, submissions until {terms.submission_deadline}, {terms.judging_window} s of judging"
    )
    signature = signer.sign_typed_data(typed, words)
    journal.note(
        "authorization",
        {"terms": terms.to_args(), "valid_before": str(valid_before), "signature": signature.hex()},
    )
    return Authorization(terms, valid_before, signature)


def _terms(chain: ChainClient, challenge: ChallengePage, commitment: Bytes32, journal: Journal) -> Terms:
    """Terms from the page and the Hub itself; only the salt is drawn, once per page."""
    with chain_errors():
        protocol_bps, guardian_bps, _ = chain.hub.fee_policy()
    salt = journal.text("salt")
    if salt is None:
        salt = bytes32(secrets.token_bytes(32))
        journal.note("salt", salt)
    return Terms(
        spec_commitment=commitment,
        expected_roster_hash=chain.current_roster().guardian_roster_hash,
        escrow_amount=challenge.escrow_amount,
        submission_deadline=challenge.submission_deadline,
        judging_window=challenge.judging_window_seconds,
        max_protocol_fee=fee_amount(challenge.escrow_amount, protocol_bps),
        max_guardian_fee=fee_amount(challenge.escrow_amount, guardian_bps),
        salt=Bytes32(salt),
    )


def _conclude(receipt: Receipt, commitment: Bytes32, journal: Journal) -> None:
    created = next((found for found in receipt.events if isinstance(found, BountyCreated)), None)
    if created is None or created.spec_commitment != commitment:
        message = f"Transaction {receipt.tx_hash} did not create this bounty."
        raise Refused("creation_mismatch", message, next_action="Look at the transaction on chain.")
    done = {
        "tx_hash": receipt.tx_hash,
        "block_number": receipt.block_number,
        "bounty_id": str(created.bounty_id),
        "spec_commitment": commitment,
    }
    journal.note("bounty_created", done)
    event("publish_fund.bounty_created", done)


def _check_balance(chain: ChainClient, poster: Address, challenge: ChallengePage) -> None:
    held = chain.token_balance(poster)
    if held < challenge.escrow_amount:
        message = f"{poster} holds {held} base units of the escrow token; the page asks for {challenge.escrow_amount}."
        raise Refused("balance_insufficient", message, next_action="Add tokens to the account, or lower the escrow.")
