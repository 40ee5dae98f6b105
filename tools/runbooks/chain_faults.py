"""Faults of the chain and of the endpoints by which it is read."""

import time
from dataclasses import replace
from typing import Any, Final

import urllib3
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.domain.hub_notice import HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, ChainId, UnixSeconds

from tests import keys
from tests.endpoints import Refusal
from tools.runbooks.scene import ExpectedAlert, Fault, FaultScene, standing

_ENDPOINTS: Final = "SERVICE_RPC_URLS"
_READERS: Final = ("api", "api-worker", "indexer-worker", "indexer-scheduler", "settler", "delivery", "delivery-worker")
"""The processes whose Secret names the endpoints."""
_HANGING_SECONDS: Final = 600.0
"""Eleven failures of an endpoint that hangs: a request ends after 15 seconds, and it rests up to 30 in between."""
_BALANCE_OF: Final = "0x70a08231"


def _no_more_blocks(place: FaultScene) -> None:
    place.stack.anvil.rpc.call("evm_setIntervalMining", 0)


def _blocks_again(place: FaultScene) -> None:
    place.stack.anvil.rpc.call("evm_setIntervalMining", place.stack.settings.block_time_seconds)


def _lie_about_headers(place: FaultScene) -> None:
    def change(method: str, _params: list[Any], result: Any) -> Any:
        is_block = method.startswith("eth_getBlockBy") and isinstance(result, dict)
        return result | {"gasUsed": "0x1"} if is_block else result

    place.endpoints[0].change = change


def _lie_about_the_balance(place: FaultScene) -> None:
    def change(method: str, params: list[Any], result: Any) -> Any:
        data = params[0].get("data", params[0].get("input", "")) if method == "eth_call" else ""
        return "0x" + "0" * 64 if data.startswith(_BALANCE_OF) else result

    place.endpoints[0].change = change


def _prove_nothing(place: FaultScene) -> None:
    def change(method: str, _params: list[Any], result: Any) -> Any:
        return Refusal(-32601, "the method does not exist") if method in _PROVING else result

    for endpoint in place.endpoints:
        endpoint.change = change
    time.sleep(UNPROVEN_SECONDS)


UNPROVEN_SECONDS: Final = 20.0
"""Until more blocks are final than ever wait for their proof."""
_PROVING: Final = ("eth_getProof", "eth_getBlockReceipts")


def _take_no_transactions(place: FaultScene) -> None:
    def change(method: str, _params: list[Any], result: Any) -> Any:
        return Refusal(-32003, "transaction underpriced") if method == "eth_sendRawTransaction" else result

    for endpoint in place.endpoints:
        endpoint.withholds = frozenset({"eth_sendRawTransaction"})
        endpoint.change = change
    silent = place.cast.fund(submission_seconds=45, judging_seconds=12, title="Not taken")
    place.submit(silent, "solver-2")


def _truth(place: FaultScene) -> None:
    for endpoint in place.endpoints:
        endpoint.change = lambda _method, _params, result: result
        endpoint.withholds = frozenset()


def _leave_out_the_first(place: FaultScene) -> None:
    """As the runbook has it: out of the Secrets; the restart is one of its commands."""
    place.change({_ENDPOINTS: place.endpoints[1].url}, *_READERS)


def _both_again(place: FaultScene) -> None:
    _truth(place)
    place.restarted({_ENDPOINTS: ",".join(each.url for each in place.endpoints)}, *_READERS)


def _nothing_becomes_final(place: FaultScene) -> None:
    """For more than an hour, by the chain's clock."""
    final = place.stack.anvil.rpc.call("eth_getBlockByNumber", "finalized", False)

    def change(method: str, params: list[Any], result: Any) -> Any:
        return final if method == "eth_getBlockByNumber" and params[0] == "finalized" else result

    for endpoint in place.endpoints:
        endpoint.change = change
    place.stack.anvil.rpc.call("evm_increaseTime", 3_700)


def _publish_a_notice(place: FaultScene) -> None:
    place.kept["notice"] = str(place.cast.chain_time() - 60)
    _post_notice(place, "hub_flaw", int(place.kept["notice"]))


def _withdraw_it(place: FaultScene) -> None:
    """As its signer's people do, with the same commands."""
    _post_notice(place, "withdrawn", int(place.kept["notice"]) + 30)


def _post_notice(place: FaultScene, reason: str, issued_at: int) -> None:
    hub, owner = place.stack.hub.hub, place.stack.people.owner.wallet
    notice = HubNotice(
        chain_id=ChainId(place.stack.anvil.chain_id),
        hub_address=Address(hub.address),
        signer=Address(owner.address),
        reason=NoticeReason(reason),
        issued_at=UnixSeconds(issued_at),
        expires_at=UnixSeconds(issued_at + 86_400),
        signature=NoticeSignature("0x00"),
    )
    signature = keys.sign(bytes.fromhex(owner.private_key.removeprefix("0x")), notice_digest(notice))
    signed = replace(notice, signature=NoticeSignature("0x" + signature.hex()))
    answer = urllib3.request("POST", f"{place.stack.api_base_url}/api/hub-notices", json=to_json(signed), retries=False)
    if answer.status not in {200, 201}:
        raise ValueError(f"the notice was refused: {answer.data.decode()}")


CHAIN_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "the chain makes no more blocks",
        _no_more_blocks,
        _blocks_again,
        (
            ExpectedAlert(
                "ChainStandsStill", "the chain itself stands still", "max(service_chain_head_age_seconds) < 10"
            ),
        ),
    ),
    Fault(
        "the first RPC endpoint hangs",
        lambda place: setattr(place.endpoints[0], "hang_seconds", 30.0),
        lambda place: setattr(place.endpoints[0], "hang_seconds", 0.0),
        (
            ExpectedAlert(
                "EndpointFails",
                r'service_rpc_endpoint_failures\{endpoint="1"\} [1-9]',
                "max(service_rpc_endpoint_failures) == 0",
                within=_HANGING_SECONDS,
            ),
        ),
    ),
    Fault(
        "the first RPC endpoint alters headers",
        _lie_about_headers,
        _leave_out_the_first,
        (
            ExpectedAlert(
                "EndpointContradicts",
                r'service_rpc_endpoint_contradictions\{endpoint="1"\} [1-9]',
                standing("service_rpc_endpoint_contradictions"),
            ),
        ),
        after=_both_again,
    ),
    Fault(
        "the first RPC endpoint states that the Hub is empty",
        _lie_about_the_balance,
        _leave_out_the_first,
        (
            ExpectedAlert(
                "HubBalanceDisputed",
                r'service_hub_missing\{endpoint="1"\} [1-9]',
                "max(service_hub_missing) == 0",
            ),
        ),
        after=_both_again,
    ),
    Fault(
        "no RPC endpoint proves anything",
        _prove_nothing,
        _truth,
        (
            ExpectedAlert(
                "IndexUnproven",
                "eth_getProof not at all",
                "max(service_index_unproven_blocks) == 0",
            ),
        ),
    ),
    Fault(
        "the Hub's owner signs a notice of a flaw",
        _publish_a_notice,
        _withdraw_it,
        (ExpectedAlert("HubNoticePublished", "hub_flaw", 'sum(service_hub_notices_total{reason="withdrawn"}) > 0'),),
    ),
    Fault(
        "nodes take no transactions while a bounty's time runs out",
        _take_no_transactions,
        _truth,
        (
            ExpectedAlert(
                "SettlementsNotAccepted",
                r'event="not_accepted"\} [1-9]',
                'max(service_bounties{state="overdue"}) == 0',
            ),
        ),
    ),
)
"""Each is over before the next one begins."""

MOVES_THE_CLOCK: Final = Fault(
    "nothing becomes final for an hour",
    _nothing_becomes_final,
    _truth,
    (
        ExpectedAlert(
            "FinalityBehind", "final up to .* 1 hour before it", "max(service_index_finality_lag_seconds) < 600"
        ),
    ),
)
"""The chain is an hour ahead afterwards: faults of bounties in play come before."""
