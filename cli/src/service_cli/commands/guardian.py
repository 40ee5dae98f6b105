"""The Guardian's commands. What a command does is imported when it runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from bounty_protocol.types import Address, BountyId, Bytes32, parse_address, parse_bytes32

from service_cli.commands import load_deployment
from service_cli.config.environment import GUARDIAN_KEY
from service_cli.ui.arguments import ADDRESS, BOUNTY_ID, COMMITMENT, DOCUMENT, Value, read_document
from service_cli.ui.command import argument_error, command

if TYPE_CHECKING:
    from service_cli.queries.submissions import Choice, CommitmentBeginning


def _beginning(text: str) -> "CommitmentBeginning":
    from service_cli.queries.submissions import CommitmentBeginning

    return CommitmentBeginning.parse(text)


SUBMISSION: Final = Value("a Submission", _beginning, "0x…")


@command("guardian:judgeable", "guardian_judgeable", api=True)
@click.option("--guardian-address", type=ADDRESS, help="The Guardian's account; by default your key's account.")
def guardian_judgeable(guardian_address: Address | None) -> None:
    """List open bounties past their reveal point whose pinned roster names this Guardian.

    Only a list: it decrypts and sends nothing. Bounties past their judging deadline are listed until someone settles
    them. Deliveries owed (awarded bounties whose winning key is not delivered yet) are also listed.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, a keystore), only for its account and only
              without --guardian-address
    Defaults: SERVICE_CHAIN_ID, SERVICE_SUBGRAPH_ENDPOINT, SERVICE_API_BASE_URL
    Examples: service-cli guardian:judgeable --guardian-address $ACCOUNT
    """
    from service_cli.config.environment import Environment
    from service_cli.queries.judgeable import list_judgeable

    needs = ("SERVICE_SUBGRAPH_ENDPOINT", "SERVICE_API_BASE_URL")
    if guardian_address is not None:
        list_judgeable(load_deployment(needs), guardian_address)
        return
    from service_cli.chain.signer import account_of

    environment = Environment.of_process()
    if environment.source(GUARDIAN_KEY) is None:
        raise argument_error("--guardian-address", f"Name the account, or set {GUARDIAN_KEY}.")
    settings = load_deployment(needs, environment)
    list_judgeable(settings, account_of(settings, GUARDIAN_KEY))


@command("guardian:open", "guardian_open", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("solver", type=ADDRESS, required=False)
@click.argument("submission_commitment", type=COMMITMENT, required=False)
@click.option("--submission", type=SUBMISSION, help="Only this Submission: 0x and its first 16 or more digits.")
@click.option(
    "--output", "output", type=click.Path(path_type=Path), metavar="DIR",
    help="Where the files go: DIR itself for one Submission, else a directory in it for each.",
)  # fmt: skip
@click.option(
    "--from", "source", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Take envelope.json and ciphertext.age from DIR.",
)  # fmt: skip
@click.option("--original-names", is_flag=True, help="Keep names that tools act on, such as .git.")
@click.option(
    "--limit", type=click.IntRange(1), metavar="BYTES",
    help="Fetch at most this much sealed work in this run; by default 2147483648 (2 GiB).",
)  # fmt: skip
@click.argument("output_dir", type=click.Path(path_type=Path), required=False)
def guardian_open(
    bounty_id: BountyId,
    solver: Address | None,
    submission_commitment: Bytes32 | None,
    submission: "CommitmentBeginning | None",
    output: Path | None,
    output_dir: Path | None,
    source: Path | None,
    original_names: bool,
    limit: int | None,
) -> None:
    """Open the Submissions of a bounty after its reveal point, on this machine only.

    \b
    service-cli guardian:open BOUNTY_ID [--submission 0x…]
    service-cli guardian:open BOUNTY_ID \\
        SOLVER SUBMISSION_COMMITMENT [OUTPUT_DIR]

    The first form lists the Submissions from the Hub's log and opens all of them, or the one given by --submission. If
    one cannot be opened, it is reported and the others are still opened; run the command again to open the rest. Files
    go to submissions/<bounty_id>/0x3719ea…/, named by the first 16 digits of the commitment, unless --output or
    OUTPUT_DIR names a directory, which must be new or empty. They stay there, readable by you, until you remove them.
    Submissions beyond --limit are listed, and the next run opens them.

    Names that tools act on unasked (.git, .env, .vscode, conftest.py and the like) are changed: .git is written as
    inert_.git_. --original-names keeps the names.

    With --from, the bytes of one Submission are read from a directory; they are checked against the commitment on
    chain.

    Checks the Solver and the Submission against the contract, reads the ciphertext with a signed request, and opens
    it with the beacon's signature and your encryption key.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY, SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (each or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL, SERVICE_BEACON_URLS
    Examples: service-cli guardian:open 7
              service-cli guardian:open 7 --submission $COMMITMENT
              service-cli guardian:open 7 $SOLVER $COMMITMENT opened/
    """
    from service_cli.config.settings import BEACON, CHAIN, CHAIN_AND_API
    from service_cli.work.opening import default_output, open_one, open_submissions

    if output is not None and output_dir is not None:
        raise argument_error("--output", "Give either --output or OUTPUT_DIR.")
    if solver is not None and submission is not None:
        raise argument_error("--submission", "Give either --submission or SOLVER.")
    if solver is None and submission is None and source is not None:
        raise argument_error("--from", "needs one Submission; add --submission.")
    if solver is not None and submission_commitment is None:
        raise argument_error("SUBMISSION_COMMITMENT", "SOLVER needs SUBMISSION_COMMITMENT.")
    if limit is not None and (solver is not None or submission is not None):
        raise argument_error("--limit", "applies only to a whole bounty; do not name a Submission.")
    settings = load_deployment((*(CHAIN_AND_API if source is None else CHAIN), *BEACON))
    named = (solver, submission_commitment) if solver is not None and submission_commitment is not None else submission
    if named is not None:
        open_one(settings, bounty_id, named, output_dir or output, source, original_names=original_names)
    else:
        below = output or default_output(bounty_id)
        open_submissions(settings, bounty_id, below, limit, original_names=original_names)


@command("guardian:verdict", "guardian_verdict", api=True, sends=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("kind", type=click.Choice(["awarded", "no_valid_submission"]))
@click.option(
    "--submission",
    type=SUBMISSION,
    help="With awarded: 0x and the first 16 or more digits of a Submission opened here.",
)
@click.option("--replace", is_flag=True, help="Replace the Verdict you recorded before with this one.")
@click.option("--unopened", is_flag=True, help="Judge Submissions that were not opened on this machine.")
@click.option(
    "--unpublished", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write your Verdict to FILE (new) instead of publishing it, for when the API is unavailable.",
)  # fmt: skip
@click.argument("rest", nargs=-1, type=DOCUMENT, metavar="[SOLVER SUBMISSION_COMMITMENT] [VERDICT_BODY_PATH]")
def guardian_verdict(
    bounty_id: BountyId,
    kind: str,
    rest: tuple[str, ...],
    submission: "CommitmentBeginning | None",
    replace: bool,
    unopened: bool,
    unpublished: Path | None,
) -> None:
    """Publish your written Verdict, read it back by its commitment, and record the same Verdict on chain.

    \b
    service-cli guardian:verdict BOUNTY_ID awarded \\
        SOLVER SUBMISSION_COMMITMENT [VERDICT_BODY_PATH]
    service-cli guardian:verdict BOUNTY_ID awarded \\
        --submission 0x… [VERDICT_BODY_PATH]
    service-cli guardian:verdict BOUNTY_ID no_valid_submission \\
        [VERDICT_BODY_PATH]

    VERDICT_BODY_PATH holds your reasons as Markdown, without frontmatter: the command adds it. It may be - for stdin.
    An award of a Submission that was not opened on this machine, or no_valid_submission while any was not, is recorded
    only after you type yes at a terminal, or with --unopened.

    --unpublished needs no API: it writes to FILE the exact bytes whose hash is recorded. Nobody else has your reasons
    until you run the same command without --unpublished, which publishes them.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Examples: service-cli guardian:verdict 7 awarded $SOLVER $COMMITMENT why.md
              service-cli guardian:verdict 7 no_valid_submission why.md --replace
    """
    from service_cli.config.settings import CHAIN, CHAIN_AND_API

    choice, path = _named(kind, rest, submission)
    if path is None:
        raise argument_error("VERDICT_BODY_PATH", "Name the file with your reasons.")
    settings = load_deployment(CHAIN_AND_API if unpublished is None else CHAIN)
    body = read_document(path)
    from service_cli.acts.verdict import record_verdict
    from service_cli.acts.verdict_checks import VerdictOptions

    record_verdict(settings, bounty_id, choice, body, VerdictOptions(replace, unopened, unpublished))


def _named(
    kind: str, rest: tuple[str, ...], submission: "CommitmentBeginning | None"
) -> "tuple[Choice | None, str | None]":
    """Return the Submission that an awarded Verdict names and the body's path, each None if not given."""
    if kind == "no_valid_submission":
        if len(rest) > 1 or submission is not None:
            raise argument_error("VERDICT_BODY_PATH", "no_valid_submission takes the path and nothing else.")
        return None, rest[0] if rest else None
    if submission is not None:
        if len(rest) > 1:
            raise argument_error("--submission", "Give either --submission or SOLVER.")
        return submission, rest[0] if rest else None
    if len(rest) not in {2, 3}:
        problem = "awarded takes SOLVER and SUBMISSION_COMMITMENT, or --submission, and VERDICT_BODY_PATH."
        raise argument_error("SOLVER", problem)
    try:
        return (parse_address(rest[0]), parse_bytes32(rest[1])), rest[2] if len(rest) == 3 else None
    except ValueError as error:
        raise argument_error("SOLVER", f"{error}.") from None


@command("guardian:deliver-key", "guardian_deliver_key", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.argument("solver", type=ADDRESS, required=False)
@click.argument("submission_commitment", type=COMMITMENT, required=False)
def guardian_deliver_key(bounty_id: BountyId, solver: Address | None, submission_commitment: Bytes32 | None) -> None:
    """Seal the winning Submission's content key to the deployment's delivery key, for the Poster.

    Only for the finalized winner named by the contract, and only to the delivery key that the Hub publishes on chain.
    With SOLVER and SUBMISSION_COMMITMENT it is delivered only if they match the winner. You can run it again safely.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY, SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (each or _FILE)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL, SERVICE_BEACON_URLS
    Examples: service-cli guardian:deliver-key 7
              service-cli guardian:deliver-key 7 $SOLVER $COMMITMENT
    """
    from service_cli.acts.deliver import deliver_key
    from service_cli.config.settings import BEACON, CHAIN_AND_API

    named = None if solver is None or submission_commitment is None else (solver, submission_commitment)
    if solver is not None and named is None:
        raise argument_error("SUBMISSION_COMMITMENT", "SOLVER needs SUBMISSION_COMMITMENT.")
    deliver_key(load_deployment((*CHAIN_AND_API, *BEACON)), bounty_id, named)


@command("guardian:new-key", "guardian_new_key", network=False)
@click.option("--rotate", is_flag=True, help="Put a new key in front of those in the file; none is removed.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
def guardian_new_key(file: Path | None, rotate: bool) -> None:
    """Make an encryption key and write it to FILE, readable by its owner only.

    FILE defaults to SERVICE_GUARDIAN_PRIVATE_KEYS_JSON_FILE. Only the public half is printed: it goes into the next
    roster. Old keys are kept after a rotation, since older bounties are sealed to them.

    \b
    Reads:   SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (or _FILE), whose keys are copied into a new FILE
    Examples: service-cli guardian:new-key guardian-keys.json
              service-cli guardian:new-key --rotate guardian-keys.json
    """
    from service_cli.config.environment import Environment
    from service_cli.work.keyring import add_key

    add_key(Environment.of_process(), file, rotate=rotate)


@command("guardian:keys", "guardian_keys")
@click.option("--roster", is_flag=True, help="Look for each key in the Hub's current roster.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path), required=False)
def guardian_keys(file: Path | None, roster: bool) -> None:
    """Show the public half of each encryption key, newest first. No secret is printed.

    With --roster it says which of them is in the current roster: new bounties are sealed to that one.

    \b
    Reads:    SERVICE_GUARDIAN_PRIVATE_KEYS_JSON (or _FILE), unless FILE is given
    Defaults: with --roster SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Examples: service-cli guardian:keys --roster
    """
    from service_cli.config.environment import Environment
    from service_cli.config.settings import CHAIN
    from service_cli.work.keyring import show_keys

    if not roster:
        show_keys(Environment.of_process(), file, None)
        return
    from service_cli.chain.session import ChainClient

    settings = load_deployment(CHAIN)
    show_keys(settings.environment, file, ChainClient(settings).current_roster().encryption_public_keys)


@command("guardian:heartbeat", "guardian_heartbeat", sends=True)
def guardian_heartbeat() -> None:
    """Record on chain that this Guardian is active, so that Posters can see it before they fund.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL
    Examples: service-cli guardian:heartbeat
    """
    from service_cli.acts.heartbeat import heartbeat
    from service_cli.config.settings import CHAIN

    heartbeat(load_deployment(CHAIN))


@command("guardian:claim-fee", "guardian_claim_fee", sends=True)
@click.argument("bounty_id", type=BOUNTY_ID)
def guardian_claim_fee(bounty_id: BountyId) -> None:
    """Claim your share of the Guardian fee of a final bounty in which your Verdict was recorded.

    If the block of the outcome is not finalized yet, the command waits up to half an hour.

    \b
    Reads:    SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY (or _FILE, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL
    Examples: service-cli guardian:claim-fee 7
    """
    from service_cli.acts.claims import claim_fee
    from service_cli.config.settings import CHAIN

    claim_fee(load_deployment(CHAIN), bounty_id)
