"""``guardian:verdict``: publish and record a Verdict."""

import click
from service_common.types import Address, BountyId, Bytes32, parse_address, parse_bytes32

from service_cli.command import argument_error, command
from service_cli.pages import read_document
from service_cli.values import BOUNTY_ID


@command("guardian:verdict", "guardian_verdict", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("kind", type=click.Choice(["awarded", "no_valid_submission"]))
@click.option("--replace", is_flag=True, help="Put this Verdict in the place of the one you recorded before.")
@click.argument("rest", nargs=-1, required=True, metavar="[SOLVER SUBMISSION_COMMITMENT] VERDICT_BODY_PATH")
def run(
    bounty_id: BountyId,
    kind: str,
    rest: tuple[str, ...],
    replace: bool,
    network: str | None,
    api_base_url: str | None,
) -> None:
    """Publish your written Verdict, read it back by its commitment, and record the same Verdict on chain.

    \b
    service-cli guardian:verdict BOUNTY_ID awarded \\
        SOLVER SUBMISSION_COMMITMENT VERDICT_BODY_PATH
    service-cli guardian:verdict BOUNTY_ID no_valid_submission \\
        VERDICT_BODY_PATH

    VERDICT_BODY_PATH holds your reasons as Markdown, without frontmatter: the command adds it. It may be - for stdin.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Prints:   guardian_verdict.published, .read_back, .recorded (bounty_id, guardian, kind, solver,
              submission_commitment, report_commitment; the last with tx_hash, block_number)
    Refuses:  a body that holds a private key; an account that is not on the pinned roster; a bounty that is not
              judgeable; a Submission that is not the Solver's active one; a document that reads back differently; a
              second Verdict without --replace
    Examples: service-cli guardian:verdict 7 awarded $SOLVER $COMMITMENT why.md
              service-cli guardian:verdict 7 no_valid_submission why.md --replace
    """
    from service_common.domain.lifecycle import VerdictKind

    from service_cli.client.judging import record_verdict
    from service_cli.settings import load_settings

    named, path = _named(kind, rest)
    settings, body = load_settings(network, api_base_url), read_document(path)
    record_verdict(settings, bounty_id, VerdictKind(kind), named, body, replace=replace)


def _named(kind: str, rest: tuple[str, ...]) -> tuple[tuple[Address, Bytes32] | None, str]:
    """The Submission an awarded Verdict names, and the body's path."""
    if kind == "no_valid_submission":
        if len(rest) != 1:
            raise argument_error("VERDICT_BODY_PATH", "no_valid_submission takes the path and nothing else.")
        return None, rest[0]
    if len(rest) != 3:
        raise argument_error("SOLVER", "awarded takes SOLVER, SUBMISSION_COMMITMENT and VERDICT_BODY_PATH.")
    try:
        return (parse_address(rest[0]), parse_bytes32(rest[1])), rest[2]
    except ValueError as error:
        raise argument_error("SOLVER", f"{error}.") from None
