"""Whether everything a command needs is there and belongs together, one check after the other.

Promises: each check is one event with what was found and, where it fails, what mends it; nothing is signed and no key
is read.
"""

import time
from collections.abc import Callable
from typing import Final

from service_common.errors import ServiceError
from service_common.types import Address

from service_cli.client.api import api_of, subgraph_of
from service_cli.client.chain import ChainClient
from service_cli.outcome import Refused
from service_cli.output import event, say, warn
from service_cli.settings import Settings
from service_cli.words import duration
from service_cli.words import wei as in_wei

_SKEW_SECONDS: Final = 60
_ON_THE_CHAIN: Final = {"clock", "roster", "balance"}
"""What cannot be judged where the RPC endpoint or the Hub is the wrong one."""
_META: Final = "{ _meta { block { number } hasIndexingErrors } }"


def examine(settings: Settings, account: Address | None) -> None:
    """The command ``doctor``."""
    checks: list[tuple[str, Callable[[], str]]] = [
        ("chain", lambda: _chain(settings)),
        ("clock", lambda: _clock(settings)),
        ("roster", lambda: _roster(settings)),
        ("api", lambda: _api(settings)),
        ("subgraph", lambda: _subgraph(settings)),
        ("beacon", lambda: _beacon(settings)),
    ]
    if account is not None:
        checks.append(("balance", lambda: _balance(settings, account)))
    failed: list[str] = []
    for name, check in checks:
        if name in _ON_THE_CHAIN and "chain" in failed:
            _tell(name, "skipped, because the chain check failed", "Mend the chain check first, then run it again.")
        elif not _report(name, check):
            failed.append(name)
    if failed:
        message = f"Not in order: {', '.join(failed)}."
        raise Refused("unhealthy", message, next_action="Do what the failed checks say, then run it again.")


def _report(name: str, check: Callable[[], str]) -> bool:
    try:
        detail, fix = check(), None
    except ServiceError as error:
        detail, fix = error.message, error.next_action
    return _tell(name, detail, fix)


def _tell(name: str, detail: str, fix: str | None) -> bool:
    event("doctor.check", {"name": name, "ok": fix is None, "detail": detail, "fix": fix})
    if fix is None:
        say(f"ok   {name}: {detail}")
    elif detail.startswith("skipped"):
        warn(f"skip {name}: {detail}")
    else:
        warn(f"FAIL {name}: {detail}\n     mend: {fix}")
    return fix is None


def _chain(settings: Settings) -> str:
    chain = ChainClient(settings)
    chain.check_deployment()
    return f"chain {chain.chain_id}, Hub {chain.hub.address}, block {chain.latest().number}"


def _clock(settings: Settings) -> str:
    skew = int(time.time()) - ChainClient(settings).latest().time
    if abs(skew) > _SKEW_SECONDS:
        message = f"This machine's clock and the newest block are {duration(abs(skew))} apart."
        raise Refused("clock_skewed", message, next_action="Set the clock, or use an RPC endpoint that keeps up.")
    return f"{skew} seconds after the newest block"


def _roster(settings: Settings) -> str:
    roster = ChainClient(settings).current_roster()
    active = sum(bool(member.last_active_at) for member in roster.members)
    return f"version {roster.version}, quorum {roster.quorum} of {len(roster.members)}, {active} active before"


def _api(settings: Settings) -> str:
    answer = api_of(settings).get("/api/deployment").json()
    token = answer.get("escrow_token")
    address = token.get("address") if isinstance(token, dict) else None
    served = (answer.get("chain_id"), answer.get("hub_address"), address)
    if served != (settings.chain_id, settings.hub_address(), settings.escrow_token()):
        message = "The API serves another chain, Hub or token than the one configured."
        raise Refused("deployment_mismatch", message, next_action="Use the values of one deployment.")
    return settings.api_base_url()


def _subgraph(settings: Settings) -> str:
    client, path = subgraph_of(settings)
    data = client.post_json(path, {"query": _META, "variables": {}}).json().get("data")
    meta = data.get("_meta") if isinstance(data, dict) else None
    block = meta.get("block") if isinstance(meta, dict) else None
    if not isinstance(meta, dict) or not isinstance(block, dict) or meta.get("hasIndexingErrors"):
        message = "The subgraph endpoint reports errors or does not answer as one."
        raise Refused("subgraph_unusable", message, next_action="Check SERVICE_SUBGRAPH_ENDPOINT.")
    return f"indexed to block {block.get('number')}"


def _beacon(settings: Settings) -> str:
    from service_cli.client.beacon import beacon_of, round_signature

    info = beacon_of(settings)
    newest = max(1, (int(time.time()) - info.genesis_time) // info.period_seconds - 1)
    round_signature(settings, info, newest)
    return f"round {newest} verified"


def _balance(settings: Settings, account: Address) -> str:
    from service_cli.client.token import in_words

    chain = ChainClient(settings)
    wei, tokens = chain.balance(account), chain.token_balance(account)
    if wei == 0:
        message = f"{account} holds no ether for gas."
        raise Refused("gas_insufficient", message, next_action="Add ether to the account.")
    return f"{in_wei(wei)}, {in_words(chain, tokens)}"
