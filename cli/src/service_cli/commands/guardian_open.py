"""``guardian:open``: open one Submission."""

from pathlib import Path

import click
from service_common.types import Address, BountyId, Bytes32

from service_cli.command import command
from service_cli.values import ADDRESS, BOUNTY_ID, COMMITMENT


@command("guardian:open", "guardian_open", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("solver", type=ADDRESS)
@click.argument("submission_commitment", type=COMMITMENT)
@click.option(
    "--from", "source", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Take what DIR holds of envelope.json, ciphertext.age and identity.txt from there.",
)  # fmt: skip
@click.option(
    "--keep-identity", type=click.Path(path_type=Path), metavar="FILE",
    help="Also write the content key to FILE (new, mode 0600), to hand over to a Guardian whose key does not open it.",
)  # fmt: skip
@click.argument("output_dir", type=click.Path(path_type=Path), required=False)
def run(
    bounty_id: BountyId,
    solver: Address,
    submission_commitment: Bytes32,
    output_dir: Path | None,
    source: Path | None,
    keep_identity: Path | None,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Open a Submission after the reveal point, on this machine only.

    Bytes may also come from anywhere else, with --from: each is checked against the commitment on chain, and the API is
    asked, with a signed request, only for an envelope or ciphertext that DIR does not hold. identity.txt is the
    content key that another Guardian opened, kept with --keep-identity and handed over.

    Checks the Solver and the Submission against the contract, reads the ciphertext with a signed request, and opens
    it with the beacon's signature and your encryption key. OUTPUT_DIR defaults to
    submissions/<bounty_id>/<submission_commitment>/ and must be new or empty.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY, SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (each or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL, SERVICE_BEACON_URLS
    Prints:   guardian_open.submission_verified (bounty_id, solver, submission_commitment)
              guardian_open.artifact_opened (bounty_id, solver, submission_commitment, output_dir, file_count,
              byte_length, bound)
    Refuses:  an output directory that holds something, a file for the content key that exists; a Submission that the
              contract does not record; an envelope that does not hash to the commitment; a reveal point not reached;
              a sealed file that does not open, or that names another bounty or Solver, saying why in plain words
    Examples: service-cli guardian:open 7 $SOLVER $COMMITMENT opened/
    """
    from service_cli.client.opening import guardian_open
    from service_cli.settings import CHAIN, CHAIN_AND_API, load_settings

    target = output_dir or Path("submissions") / str(bounty_id) / submission_commitment
    settings = load_settings(network, api_base_url, CHAIN_AND_API if source is None else CHAIN)
    guardian_open(settings, bounty_id, solver, submission_commitment, target, source, keep_identity)
