"""README.md of a kept directory: for anyone who opens it years later, without this service and its documents."""

from typing import Final

from bounty_protocol.chain.hub import BountyView
from bounty_protocol.clock import iso_utc
from bounty_protocol.types import BountyId

from service_cli.chain.session import ChainClient

README: Final = "README.md"
_TEXT: Final = """{heading} When this was written, at {now}, the bounty was: {state}.

The chain decides and pays; these files only show why, and open the work. Each was checked against the chain, but for
record.json, which is the service's own word.

| file | what it is | its check |
|---|---|---|
| challenge.md | the challenge page | keccak256 is the Hub's specCommitment, {spec_commitment} |
| verdicts/0x….md | a Guardian's written reasons | keccak256 is in its name, and in the Hub's VerdictRecorded |
| submissions/N-0x…/envelope.json | how a Submission is sealed | keccak256 is the Submission's commitment |
| submissions/N-0x…/ciphertext.age | the sealed work | length and SHA-256 are in envelope.json |
| record.json | the service's summary of the end | unchecked: audit.zip has what it follows from |
| audit.zip | the Hub's log, and what the service showed | `service-audit --from audit.zip`, without a network |
| audit-with-envelopes.zip | the same, with what a reader sees | `service-audit --from audit-with-envelopes.zip` |

With `service-cli`, an RPC endpoint (`SERVICE_RPC_URL`) and no service:

- **Claim** an award or a refund: `service-cli claim {bounty_id}`. A Guardian's share:
  `service-cli guardian:claim-fee {bounty_id}`.
- **Open** as a Guardian after the reveal point ({reveal_at}), with your encryption keys and a drand relay
  (`SERVICE_BEACON_URLS`), in this directory: `service-cli guardian:open {bounty_id} --from .`
- **Judge** until {judging_deadline}, and give verdict.md to anyone who asks for your reasons:
  `service-cli guardian:verdict {bounty_id} awarded --submission N why.md --unpublished verdict.md`
- **Settle** after that: any wallet calls `settle({bounty_id})` on the Hub.
- **Look**: `service-cli bounty:watch {bounty_id}`.

Without `service-cli` the Hub takes the same calls from any wallet, and age, tlock and tar open the work.

Lost with the service are the delivery of the winning key to the Poster, whom a Guardian has to send the opened work
instead; the pages, feeds and webhooks; and every file that nobody kept.
"""


def heading(chain: ChainClient, bounty_id: BountyId) -> str:
    """How it begins, by which a later run knows its own: a number alone is another bounty at another Hub."""
    return f"# What was kept of bounty {bounty_id}\n\nChain {chain.chain_id}, Hub {chain.hub.address}."


def readme(chain: ChainClient, bounty_id: BountyId, bounty: BountyView) -> str:
    """The text, for this bounty as it is now."""
    return _TEXT.format(
        heading=heading(chain, bounty_id),
        bounty_id=bounty_id,
        now=iso_utc(chain.latest().time),
        state="open" if bounty.outcome is None else bounty.outcome.value,
        spec_commitment=bounty.spec_commitment,
        reveal_at=iso_utc(bounty.reveal_at),
        judging_deadline=iso_utc(bounty.judging_deadline),
    )
