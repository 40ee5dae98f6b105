"""The Poster's commands: ``poster:new``, ``poster:publish-fund``, ``poster:open-winning-submission``, and
``spec-commitment``. What a command does is imported when it runs.
"""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from bounty_protocol.types import Address, BountyId, TokenAmount, UnixSeconds

from service_cli.commands import load_deployment
from service_cli.ui.arguments import (
    ADDRESS,
    BOUNTY_ID,
    DOCUMENT,
    OUTPUT_DIR,
    PATH,
    Value,
    read_document,
)
from service_cli.ui.command import argument_error, command
from service_cli.ui.output import emit

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class WrittenAmount:
    """An amount as typed: its value in smallest units, and the token's name if given."""

    value: TokenAmount
    token: str | None


def _amount(text: str) -> WrittenAmount:
    from bounty_protocol.domain.money.shorthand import named_token, read_amount

    if text.strip().isdecimal():
        text = f"{text.strip()}.0"  # on a page it could be smallest units; here it is whole tokens, and shown
    return WrittenAmount(read_amount(text), named_token(text))


def _deadline(text: str) -> UnixSeconds:
    from bounty_protocol.domain.money.shorthand import read_moment

    return read_moment(text, int(time.time()))


def _judging(text: str) -> int:
    from bounty_protocol.domain.money.shorthand import read_span

    if text.strip().isdecimal():
        raise ValueError(f"a time with its unit, such as {int(text) or 3} days")
    return read_span(text)


AWARD = Value("an award", _amount, "AMOUNT")
ESCROW = Value("an escrow", _amount, "AMOUNT")
DEADLINE = Value("a deadline", _deadline, "TIME")
JUDGING = Value("a judging time", _judging, "TIME")


@command("poster:new", "poster_new")
@click.option("--award", type=AWARD, help='What the winner gets: "400 USDC"; fees are read from the Hub and added.')
@click.option("--escrow", type=ESCROW, help='What you pay in, fees included: "25 USDC" or 25.00.')
@click.option("--deadline", type=DEADLINE, help='For Submissions: 2027-01-31, 2027-01-31T18:00Z or "10 days".')
@click.option("--judging", type=JUDGING, help='How long Guardians have after the reveal point: "3 days".')
@click.argument("path", type=PATH, default="bounty_challenge.md")
def poster_new(
    path: "Path",
    award: WrittenAmount | None,
    escrow: WrittenAmount | None,
    deadline: UnixSeconds | None,
    judging: int | None,
) -> None:
    """Write a template of a challenge page for you to fill in. PATH defaults to bounty_challenge.md.

    A date without a time means its last second, UTC. The command shows how it read each value; on the page itself only
    exact numbers count. With --award it computes the escrow from the Hub's fees and refuses at once terms that the Hub
    would refuse; without --award it uses no network.

    \b
    Reads:    nothing
    Defaults: with --award SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Examples: service-cli poster:new my_bounty.md
              service-cli poster:new --escrow "25 USDC" small_bounty.md
    """
    from service_cli.errors import CommandRefused
    from service_cli.ui.text import argument, moment
    from service_cli.work.page_events import WrittenTemplate
    from service_cli.work.template import template

    now = int(time.time())
    if str(path) == "-":
        raise argument_error("PATH", "Name a file to write; - is not accepted here.")
    if award is not None and escrow is not None:
        raise argument_error("--award", "Give either --award or --escrow.")
    if deadline is not None and award is None and deadline <= now:
        raise argument_error("--deadline", f"It has passed: {moment(deadline, now)}.")
    paid_in = None if escrow is None else escrow.value

    fees: tuple[TokenAmount | None, TokenAmount | None, TokenAmount | None] = (None, None, None)
    if award is None:
        text = template(now, paid_in, deadline, judging)
    else:
        from bounty_protocol.domain.challenge.page import parse_challenge

        from service_cli.config.settings import CHAIN
        from service_cli.queries.conditions import check_terms, escrow_for

        conditions, paid_in = escrow_for(load_deployment(CHAIN), award.value, award.token)
        now, fees = conditions.now, conditions.shares(paid_in)
        text = template(now, paid_in, deadline, judging)
        check_terms(conditions, parse_challenge(text.encode()), None)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        next_action = "Name another path, or move that file."
        raise CommandRefused("file_exists", f"{path} exists already.", next_action=next_action) from None
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}."
        raise CommandRefused("file_unwritable", message, next_action="Check the path.") from None
    written = WrittenTemplate(str(path), paid_in, deadline, judging, *fees)
    emit(written, f"service-cli poster:check {argument(str(path), 'PAGE')}")


@command("poster:check", "poster_check")
@click.option("--offline", is_flag=True, help="Check only the page, even if a Hub is configured.")
@click.argument("page", type=DOCUMENT, metavar="BOUNTY_CHALLENGE_MD_PATH")
def poster_check(page: str, offline: bool) -> None:
    """Review a challenge page on this machine, line by line, before you publish it.

    The rules are those of the service's readiness review; the Hub's bounds are checked where its values are known. Each
    issue names its line, its field, what is wrong and what to do. A page that passes may still be refused by a review
    with a language model; only publishing charges a review.
    BOUNTY_CHALLENGE_MD_PATH may be - for stdin.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS, where they are known
    Examples: service-cli poster:check bounty_challenge.md
              service-cli poster:check --offline bounty_challenge.md
    """
    from service_cli.work.checking import STDIN, check_page_file

    name = STDIN if page == "-" else page
    content = read_document(page)
    check_page_file(load_deployment(None), content, name, offline=offline)


@command("poster:publish-fund", "publish_fund", api=True, sends=True)
@click.option("--check", is_flag=True, help="Only check page and balance, and show what funding costs; no key needed.")
@click.option("--poster-address", type=ADDRESS, help="With --check: the account to check; default: the key's account.")
@click.option("--yes", is_flag=True, help="Do not ask before moving money on mainnet.")
@click.option("--again", is_flag=True, help="Fund this page once more: another bounty with its own escrow.")
@click.argument("page", type=DOCUMENT, metavar="BOUNTY_CHALLENGE_MD_PATH")
def poster_publish_fund(page: str, check: bool, poster_address: Address | None, yes: bool, again: bool) -> None:
    """Publish a challenge page and fund its bounty from your account.

    Publishes the exact bytes, compares the answer with the terms it derives itself from the page and the Hub, signs one
    token authorization that binds every term, and sends createBountyWithAuthorization. A token without authorizations,
    or an account with code, is funded by an allowance of exactly the escrow instead. If the command was interrupted,
    run it again: it continues, and once the page is funded it shows the bounty. A page that was funded on another
    machine is refused unless --again is given. A changed page is refused while a bounty from the same file or with the
    same title is open or may still be created, since a typo cannot be corrected in a funded page; at a terminal you are
    asked instead. A page that fails poster:check is refused before it is sent. BOUNTY_CHALLENGE_MD_PATH may be - for
    stdin.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY (required; or SERVICE_POSTER_PRIVATE_KEY_FILE); with --check, where it is
              set, to know its account
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL,
              SERVICE_API_BASE_URL, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Examples: service-cli poster:publish-fund --check bounty_challenge.md
              service-cli poster:publish-fund bounty_challenge.md
    """
    from service_cli.acts.publish import FundingConsent, check_page, publish_and_fund
    from service_cli.config.settings import CHAIN, CHAIN_AND_API

    if poster_address is not None and not check:
        raise argument_error("--poster-address", "needs --check; the key's account funds the bounty.")
    if check:
        from service_cli.chain.signer import account_of
        from service_cli.config.environment import POSTER_KEY

        settings = load_deployment(CHAIN)
        if poster_address is None and settings.environment.source(POSTER_KEY) is not None:
            poster_address = account_of(settings, POSTER_KEY)
        check_page(settings, read_document(page), poster_address, page, again=again)
    else:
        settings, path = load_deployment(CHAIN_AND_API), None if page == "-" else page
        publish_and_fund(settings, read_document(page), FundingConsent(yes, again), path)


@command("poster:open-winning-submission", "open_winning_submission", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
@click.option("--original-names", is_flag=True, help="Keep names that tools act on, such as .git.")
@click.argument("output_dir", type=OUTPUT_DIR, required=False)
def poster_open_winning_submission(bounty_id: BountyId, output_dir: "Path | None", original_names: bool) -> None:
    """Open the winning Submission of your bounty.

    Makes a one-time key, retrieves the content key sealed to it, checks the envelope against the chain, and writes the
    files to OUTPUT_DIR only (default winning-submission/<bounty_id>/<submission_commitment>/, which must be
    new or empty). The server never sees the one-time private key, the content key or the files.

    Names that tools act on unasked (.git, .env, .vscode, conftest.py and the like) are changed: .git is written as
    inert_.git_. --original-names keeps the names.

    \b
    Reads:    SERVICE_POSTER_PRIVATE_KEY (or _FILE, a keystore)
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Examples: service-cli poster:open-winning-submission 7 winning-work
    """
    from service_cli.config.settings import CHAIN_AND_API
    from service_cli.work.winning import open_winning_submission

    settings = load_deployment(CHAIN_AND_API)
    open_winning_submission(settings, bounty_id, output_dir, original_names=original_names)


@command("spec-commitment", "spec_commitment", network=False)
@click.argument("page", type=DOCUMENT, metavar="BOUNTY_CHALLENGE_MD_PATH")
def spec_commitment(page: str) -> None:
    """Hash the exact bytes of a challenge page with the canonical commitment function.

    Needs no network, wallet or configuration. BOUNTY_CHALLENGE_MD_PATH may be - for stdin.

    \b
    Reads:   nothing
    Examples: service-cli spec-commitment bounty_challenge.md
              service-cli spec-commitment - < bounty_challenge.md
    """
    from bounty_protocol.domain.challenge.commitments import spec_commitment

    from service_cli.work.page_events import DerivedCommitment

    data = read_document(page)
    emit(DerivedCommitment(spec_commitment(data), len(data)))
