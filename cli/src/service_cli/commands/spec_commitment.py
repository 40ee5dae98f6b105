"""``spec-commitment``: the hash of a challenge page's exact bytes."""

import click

from service_cli.command import command
from service_cli.output import event
from service_cli.pages import read_document


@command("spec-commitment", "spec_commitment", network=False)
@click.argument("page", metavar="BOUNTY_CHALLENGE_MD_PATH")
def run(page: str) -> None:
    """Hash the exact bytes of a challenge page with the canonical commitment function.

    No network, wallet or configuration. BOUNTY_CHALLENGE_MD_PATH may be - for stdin.

    \b
    Reads:   nothing
    Prints:  spec_commitment.derived (spec_commitment, byte_length)
    Refuses: a file that cannot be read, or over 256 KiB
    Examples: service-cli spec-commitment bounty_challenge.md
              service-cli spec-commitment - < bounty_challenge.md
    """
    from service_common.domain.commitments import spec_commitment

    data = read_document(page)
    event("spec_commitment.derived", {"spec_commitment": spec_commitment(data), "byte_length": len(data)})
