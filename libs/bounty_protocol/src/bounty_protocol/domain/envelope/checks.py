"""Whether an envelope belongs to the bounty and Solver it is offered for.

Every field that the chain or the deployment fixes is compared, and all differences are listed together. An envelope
that passes cannot be another Solver's, another bounty's, or sealed for another roster or reveal point as far as its
public part shows. What that part does not show (that the capsule's inner stanzas are right) is found on opening.
"""

from dataclasses import dataclass

from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.domain.envelope.reveal import RevealPolicy, check_reveal_policy
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.errors import Issue
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId


@dataclass(frozen=True, slots=True)
class ExpectedEnvelope:
    """The values that an envelope must state, by the chain and the deployment."""

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    solver_address: Address
    spec_commitment: Bytes32
    roster: Roster
    reveal_policy: RevealPolicy


def envelope_differences(envelope: Envelope, expected: ExpectedEnvelope) -> list[Issue]:
    """List every difference, in the order of the envelope's fields; none means that the envelope belongs here."""
    pairs: tuple[tuple[str, object, object, str], ...] = (
        ("chain_id", envelope.chain_id, expected.chain_id, "is not this deployment's chain"),
        ("hub_address", envelope.hub_address, expected.hub_address, "is not this deployment's Hub"),
        ("bounty_id", envelope.bounty_id, expected.bounty_id, "is another bounty"),
        ("solver_address", envelope.solver_address, expected.solver_address, "is another Solver"),
        ("spec_commitment", envelope.spec_commitment, expected.spec_commitment, "is not the bounty's challenge"),
        (
            "guardian_roster_hash",
            envelope.guardian_roster_hash,
            expected.roster.guardian_roster_hash,
            "is not the roster that the bounty pinned",
        ),
        (
            "recipients_commitment",
            envelope.recipients_commitment,
            expected.roster.recipients_commitment,
            "does not cover exactly the encryption keys of the pinned roster",
        ),
    )
    issues = [Issue(path, message) for path, ours, theirs, message in pairs if ours != theirs]
    return issues + check_reveal_policy(envelope.reveal_policy, expected.reveal_policy)
