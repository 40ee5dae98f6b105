"""The Solver's command, ``solver:submit``. What it does is imported when it runs."""

from pathlib import Path

import click
from bounty_protocol.types import Address, BountyId

from service_cli.commands import load_deployment
from service_cli.config.environment import SOLVER_KEY
from service_cli.ui.arguments import ADDRESS, BOUNTY_ID
from service_cli.ui.command import command


@command("solver:submit", "submit", api=True, sends=True)
@click.option("--solver-address", type=ADDRESS, help="Sign in an external wallet; no key enters this process.")
@click.option("--accept-term-differences", is_flag=True, help="Submit even if the page's terms differ from the chain.")
@click.option("--without-api", is_flag=True, help="Only record the commitment on chain; upload later, or by hand.")
@click.option("--replace", is_flag=True, help="Replace the recorded Submission with this one.")
@click.option("--check", is_flag=True, help="Only show what would be sealed and what it costs; send nothing.")
@click.option("--include-suspicious", is_flag=True, help="Also seal files that look like secrets, without asking.")
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("artifact_dir", type=click.Path(exists=True, file_okay=False, path_type=Path))
def solver_submit(
    bounty_id: BountyId,
    artifact_dir: Path,
    solver_address: Address | None,
    accept_term_differences: bool,
    without_api: bool,
    replace: bool,
    check: bool,
    include_suspicious: bool,
) -> None:
    """Seal a directory for the bounty's Guardians, upload it, and record the Submission.

    Only ciphertext leaves this machine. Nobody can read it before the reveal point. If the command was interrupted, run
    it again: it continues with the same sealed bytes and shows what is recorded. A changed directory is a new
    Submission, which counts from its own, later block. It replaces your earlier one after you confirm at a terminal, or
    with --replace; one made on another machine is replaced only with --replace. One that an endpoint hides is recorded
    again, in a later place, only after the same. While the API is down, --without-api records the same commitment; the
    page's terms are then not compared. After the deadline the command shows what is recorded, and uploads those bytes
    again if the storage lost them.

    Files named in .bountyignore at the top of the directory (same rules as .gitignore) are left out and listed. Files
    that look like secrets (.env, .git, *.pem, a private key) are sealed only after you confirm at a terminal, or with
    --include-suspicious.

    With --solver-address an external wallet signs and sends: the message to sign and the call are printed. Run the
    command again to find what was sent.

    \b
    Reads:    SERVICE_SOLVER_PRIVATE_KEY (or _FILE, a keystore), unless --solver-address is given
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS, SERVICE_BEACON_URLS
    Examples: service-cli solver:submit --check 7 work/
              service-cli solver:submit 7 work/
              service-cli solver:submit --without-api 7 work/
              service-cli solver:submit --replace 7 work/
    """
    from service_cli.acts.submit import SubmitOptions, submit
    from service_cli.chain.outside import external_signer
    from service_cli.chain.signer import Signer, local_signer
    from service_cli.config.settings import BEACON, CHAIN, CHAIN_AND_API
    from service_cli.ui.output import print_json

    if solver_address is not None:  # a program reads what the wallet is to sign
        print_json()
    needs = (*(CHAIN if without_api else CHAIN_AND_API), *BEACON)
    settings = load_deployment(needs)
    options = SubmitOptions(accept_term_differences, without_api, replace, include_suspicious)
    wallet = None if solver_address is None else external_signer(settings, solver_address)
    signer: Signer = wallet or local_signer(settings, SOLVER_KEY)
    if check:
        from service_cli.acts.submit import check_submission

        check_submission(settings, signer, bounty_id, artifact_dir, options)
    else:
        submit(settings, signer, bounty_id, artifact_dir, options)
