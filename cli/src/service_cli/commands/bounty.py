"""Commands that only read: ``bounty:list``, ``bounty:show``, ``bounty:watch`` and ``verification-record``.

As in each module of commands, what a command does is imported when it runs.
"""

import click
from bounty_protocol.types import Address, BountyId

from service_cli.commands import load_deployment
from service_cli.ui.arguments import ADDRESS, BOUNTY_ID
from service_cli.ui.command import command, read_option


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


@command("bounty:list", "bounty_list", api=True)
@click.option("--status", type=click.Choice(["open", "final"]), help="Only bounties in this state.")
@click.option("--accepting", is_flag=True, help="Only bounties that accept Submissions now.")
@click.option("--judgeable", is_flag=True, help="Only bounties that their Guardians can judge now.")
@click.option("--poster-address", type=ADDRESS, help="Only bounties of this Poster.")
@click.option("--solver-address", type=ADDRESS, help="Only bounties that this Solver submitted to.")
@click.option("--guardian-address", type=ADDRESS, help="Only bounties whose roster names this Guardian.")
@click.option("--search", metavar="WORDS", help="Only pages with these words in the title or summary.")
@click.option("--tag", metavar="TAG", help="Only pages with this tag.")
@click.option("--min-award", metavar="AMOUNT", help='Only awards of at least this amount, such as "25 USDC".')
@click.option("--deadline-before", metavar="MOMENT", help="Only submission deadlines before this, as in 2027-01-31.")
@click.option("--deadline-after", metavar="MOMENT", help="Only submission deadlines after this time.")
@click.option("--sort", type=click.Choice(["newest", "deadline", "award"]), help="The order; newest by default.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), metavar="COUNT", default=20, show_default=True, help="At most this many."
)
def bounty_list(
    status: str | None,
    accepting: bool,
    judgeable: bool,
    poster_address: Address | None,
    solver_address: Address | None,
    guardian_address: Address | None,
    search: str | None,
    tag: str | None,
    min_award: str | None,
    deadline_before: str | None,
    deadline_after: str | None,
    sort: str | None,
    limit: int,
) -> None:
    """List bounties; those that you can act on come first.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_API_BASE_URL
    Examples: service-cli bounty:list --accepting --sort deadline
              service-cli bounty:list --search "tile set" --min-award 10.00
              service-cli bounty:list --poster-address $ACCOUNT --limit 100
    """
    from bounty_protocol.domain.money.shorthand import read_amount, read_moment

    from service_cli.queries.listing import list_bounties

    filters = {
        "status": status,
        "accepting": "true" if accepting else None,
        "judgeable": "true" if judgeable else None,
        "poster_address": poster_address,
        "solver_address": solver_address,
        "guardian_address": guardian_address,
        "search": search,
        "tag": tag,
        "min_award": _text(read_option("--min-award", read_amount, min_award)),
        "deadline_before": _text(read_option("--deadline-before", read_moment, deadline_before)),
        "deadline_after": _text(read_option("--deadline-after", read_moment, deadline_after)),
        "sort": sort,
    }
    settings = load_deployment(("SERVICE_API_BASE_URL",))
    list_bounties(settings, {name: value for name, value in filters.items() if value is not None}, limit)


@command("bounty:show", "bounty_show", api=True)
@click.option("--verdicts", is_flag=True, help="Also show each Guardian's Verdict and its written reasons.")
@click.argument("bounty_id", type=BOUNTY_ID)
def bounty_show(bounty_id: BountyId, verdicts: bool) -> None:
    """Show one bounty: its facts, roster, active Submissions, challenge page and record.

    With --verdicts it shows each Guardian's latest Verdict from the Hub, and the written reasons from the API. Reasons
    that do not hash to the commitment on chain are not shown.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL; with --verdicts
              SERVICE_ESCROW_TOKEN_ADDRESS, SERVICE_RPC_URL, SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS
    Examples: service-cli bounty:show 7
              service-cli bounty:show --verdicts 7
    """
    from service_cli.queries.listing import show_bounty

    if verdicts:
        from service_cli.config.settings import CHAIN_AND_API
        from service_cli.queries.verdicts import show_verdicts

        settings = load_deployment(CHAIN_AND_API)
        show_bounty(settings, bounty_id)
        show_verdicts(settings, bounty_id)
        return
    needs = ("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")
    show_bounty(load_deployment(needs), bounty_id)


@command("bounty:watch", "bounty_watch", api=True)
@click.argument("bounty_id", type=BOUNTY_ID, required=False)
def bounty_watch(bounty_id: BountyId | None) -> None:
    """Follow a bounty on the chain until its outcome is finalized, and show what happens next and when.

    Events are printed as blocks arrive, and withdrawn if a reorg removes them. Stop with Ctrl-C.

    Without BOUNTY_ID it follows the API's feed of changes: every Hub event of every bounty, once it is final.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_RPC_URL, SERVICE_API_BASE_URL
    Examples: service-cli bounty:watch 7
    """
    from service_cli.config.settings import CHAIN_AND_API
    from service_cli.queries.watch import watch_bounty, watch_changes

    if bounty_id is None:
        watch_changes(load_deployment(("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")))
    watch_bounty(load_deployment(CHAIN_AND_API), bounty_id)


@command("verification-record", "verification_record", api=True)
@click.argument("bounty_id", type=BOUNTY_ID)
def verification_record(bounty_id: BountyId) -> None:
    """Show the VerificationRecord of a final bounty; no signature is needed.

    The record is evidence only: it grants nothing and never overrides the chain.

    \b
    Reads:    nothing secret
    Defaults: SERVICE_CHAIN_ID, SERVICE_HUB_ADDRESS, SERVICE_API_BASE_URL
    Examples: service-cli verification-record 7
    """
    from service_cli.queries.listing import show_record

    needs = ("SERVICE_HUB_ADDRESS", "SERVICE_API_BASE_URL")
    show_record(load_deployment(needs), bounty_id)
