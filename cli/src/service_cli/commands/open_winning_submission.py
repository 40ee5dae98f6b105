"""``poster:open-winning-submission``: the work that was paid for."""

from pathlib import Path

import click
from service_common.types import BountyId

from service_cli.command import command
from service_cli.values import BOUNTY_ID


@command("poster:open-winning-submission", "open_winning_submission", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("output_dir", type=click.Path(path_type=Path), required=False)
def run(bounty_id: BountyId, output_dir: Path | None, network: str | None, api_base_url: str | None) -> None:
    """Open the winning Submission of your bounty.

    Makes a one-time key, retrieves the content key sealed to it, checks the envelope against the chain, and writes
    the files only to OUTPUT_DIR (default winning-submission/<bounty_id>/<submission_commitment>/, which must be
    new or empty). The server never sees the one-time private key, the content key or the files.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY (or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   open_winning_submission.key_retrieved (bounty_id, solver, submission_commitment)
              open_winning_submission.artifact_opened (bounty_id, solver, submission_commitment, output_dir,
              file_count, byte_length, bound)
    Refuses:  an output directory that holds something; a bounty that is not awarded, or not yours; an envelope that
              does not hash to the winning commitment; a key that is not the envelope's; work that names another bounty
              or Solver
    Examples: service-cli poster:open-winning-submission 7 winning-work
    """
    from service_cli.client.opening import open_winning_submission
    from service_cli.settings import load_settings

    open_winning_submission(load_settings(network, api_base_url), bounty_id, output_dir)
