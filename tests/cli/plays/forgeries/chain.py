"""What a node shows of the chain itself: blocks and their time, an account and its gas, transactions."""

from collections.abc import Callable
from typing import Any, Final

from bounty_protocol.chain.gas import GWEI

from tests.cli.plays.acts import Act, Kind
from tests.cli.plays.facts import Fact
from tests.cli.plays.forgeries.answers import (
    Answers,
    Json,
    blocks,
    dropped,
    listed,
    receipt_for,
    refused_but_sent,
    result_of,
    shifted,
    stale,
    together,
)
from tests.cli.plays.forgeries.makers import both, instead, only, refusing, result, revert, simulated, succeeding
from tests.cli.plays.forgeries.subject import BY_NODE, Forger, subject
from tests.cli.plays.world import DAYS, DELEGATED, HOURS, World
from tests.cli.servers import Params


def newest(seconds: Callable[[World, Act], int]) -> Forger:
    """The newest block's time moved, and nothing else."""

    def forger(world: World, act: Act) -> Answers:
        by = seconds(world, act)
        return blocks(lambda place, header: shifted(header, by) if place == "latest" else {}, world.rpc)

    return forger


def until(field: str, further: int) -> Callable[[World, Act], int]:
    """Seconds from the newest block to a moment of the act's bounty; an hour where it has none."""

    def seconds(world: World, act: Act) -> int:
        bounty = world.bounty(act.bounty(world))
        return HOURS if bounty is None else int(getattr(bounty, field)) + further - world.ledger.time()

    return seconds


def finalized(change: Callable[[World, Json], Json]) -> Forger:
    """Another header as the finalized one, and what the Hub has at that block."""

    def forger(world: World, _act: Act) -> Answers:
        def altered(method: str, params: Params, result: object) -> object:
            if method != "eth_call" or params[1] != "finalized":
                return result
            header = world.block("finalized")
            return world.rpc.call("eth_call", params[0], (header | change(world, header))["number"])

        header = blocks(lambda place, header: change(world, header) if place == "finalized" else {}, world.rpc)
        return together(header, Answers(altered=altered))

    return forger


def no_finality(_world: World, _act: Act) -> Answers:
    """A node that knows no finalized block."""

    def answer(method: str, params: Params) -> Json | None:
        unknown = {"error": {"code": -39_001, "message": "unknown block"}}
        return unknown if "finalized" in params else None

    return Answers(answer)


def behind(blocks_behind: int) -> Forger:
    """A node that saw nothing of the last blocks before the run."""

    def forger(world: World, _act: Act) -> Answers:
        seen = max(1, world.height() - blocks_behind)
        return stale(world.rpc, lambda: seen)

    return forger


def mine_two_hours_ahead(world: World, _act: Act) -> None:
    """The whole chain is two hours ahead of every clock."""
    world.rpc.call("evm_setNextBlockTimestamp", int(world.now) + 2 * HOURS)
    world.ledger.node.mine(4)


# -------------------------------------------------------------------- the account and its gas


def nonce(value: Callable[[int], int], tag: str | None = None) -> Forger:
    """How many transactions the account sent."""
    return lambda _world, _act: result_of("eth_getTransactionCount", lambda found: hex(value(int(found, 16))), tag=tag)


def code(value: str) -> Forger:
    """The code of the act's own account."""

    def forger(world: World, act: Act) -> Answers:
        account = world.account(act.person)

        def altered(method: str, params: Params, found: Any) -> Any:
            return value if method == "eth_getCode" and str(params[0]).lower() == account else found

        return Answers(altered=altered)

    return forger


def base_fee(wei: int) -> Forger:
    """What each block costs."""
    return result("eth_getBlockByNumber", lambda block: block and block | {"baseFeePerGas": hex(wei)})


def tip(wei: int) -> Forger:
    """What is suggested, and what recent blocks took."""

    def history(found: Json) -> Json:
        return found | {"reward": [[hex(wei)] for _ in range(20)]}

    return both(result("eth_maxPriorityFeePerGas", lambda _: hex(wei)), result("eth_feeHistory", history))


# -------------------------------------------------------------------- transactions


def dropping(_world: World, _act: Act) -> Answers:
    """Every transaction is taken and none forwarded."""
    return dropped()


def refusing_but_sending(message: str) -> Forger:
    """Every transaction is forwarded, and refused."""
    return lambda world, _act: refused_but_sent(world.forward, message)


def believed(_world: World, act: Act) -> Answers:
    """Every transaction is taken, none forwarded, and each that is requested has succeeded, without a log."""
    return together(dropped(), succeeded(_world, act))


def succeeded(world: World, _act: Act) -> Answers:
    """Each transaction that is requested has succeeded, without a log."""
    requested: list[object] = []

    def altered(method: str, params: Params, found: Any) -> Any:
        if method == "eth_getTransactionReceipt":
            if found is not None:
                return found | {"status": "0x1", "logs": []}
            requested.append(params[0])
            return receipt_for(world.block(), params[0], 1)
        if method == "eth_getTransactionCount" and requested and params[-1] == "latest":
            return hex(int(found, 16) + 1)
        return found

    return Answers(altered=altered)


def reverted(_world: World, _act: Act) -> Answers:
    """Each transaction that is requested has reverted, and nothing of it is in any log."""
    requested: set[object] = set()

    def altered(method: str, params: Params, found: Any) -> Any:
        if method == "eth_getTransactionReceipt" and found is not None:
            requested.add(params[0])
            return found | {"status": "0x0", "logs": []}
        return found

    gone = listed(lambda logs: [log for log in logs if log["transactionHash"] not in requested])
    return together(Answers(altered=altered), gone)


def known_without_block(_world: World, _act: Act) -> Answers:
    """Every transaction waits for its block, for ever."""
    return result_of("eth_getTransactionByHash", lambda found: found or {"blockNumber": None})


def nothing(_world: World, _act: Act) -> None:
    """A branch on which only the run happens: it succeeds there, with every event, and has never happened."""


# -------------------------------------------------------------------- what can be forged

KEPT_BACK: Final = "that a transaction was taken: taken, and dropped"
"""After this one a node has a transaction that it can send when it likes."""
NOTICED_AT_ONCE: Final = "which deployment it is"
"""With this one forged a run has always ended before anything else was requested: it is drawn less often."""
SUBJECTS: Final = (
    subject(
        NOTICED_AT_ONCE,
        set(Kind),
        BY_NODE,
        {
            "another chain": instead("eth_chainId", {"result": "0x1"}),
            "another reveal delay": only("revealDelay", 1),
            "without its Hub": instead("eth_getCode", {"result": "0x"}),
        },
    ),
    subject(
        "the newest block's time",
        set(Kind),
        BY_NODE,
        {
            "five years ahead": newest(lambda _world, _act: 5 * 365 * DAYS),
            "two hours ahead": newest(lambda _world, _act: 2 * HOURS),
            "two hours behind": newest(lambda _world, _act: -2 * HOURS),
            "a month behind": newest(lambda _world, _act: -30 * DAYS),
            "after the deadline": newest(until("submission_deadline", 1)),
            "before the reveal point": newest(until("reveal_at", -1)),
            "after the judging": newest(until("judging_deadline", 1)),
        },
        {"two hours ahead, mined": mine_two_hours_ahead},
        bears_on=(Fact.TIME,),
    ),
    subject(
        "the newest block",
        set(Kind),
        BY_NODE,
        {
            "a thousand further": result("eth_blockNumber", lambda number: hex(int(number, 16) + 1_000)),
            "five before it": behind(5),
            "of long ago": behind(30),
        },
    ),
    subject(
        "the finalized block",
        set(Kind),
        BY_NODE,
        {
            "two hours later": finalized(lambda _world, header: shifted(header, 2 * HOURS)),
            "five years later": finalized(lambda _world, header: shifted(header, 5 * 365 * DAYS)),
            "the newest": finalized(lambda world, _header: world.block()),
            "the first": finalized(lambda world, _header: world.block("0x0")),
            "none": no_finality,
        },
        bears_on=(Fact.AUTHORIZATION_OVER,),
    ),
    subject(
        "the account's nonce",
        {Kind.SENDS},
        BY_NODE,
        {
            "a million": nonce(lambda _: 10**6),
            "zero": nonce(lambda _: 0),
            "one more": nonce(lambda found: found + 1),
            "two more": nonce(lambda found: found + 2),
            "used": nonce(lambda found: found + 1, "latest"),
            "pending": nonce(lambda found: found + 1, "pending"),
        },
    ),
    subject(
        "the gas that a call takes",
        {Kind.SENDS},
        BY_NODE,
        {
            "a billion": instead("eth_estimateGas", {"result": hex(10**9)}),
            "21,000": instead("eth_estimateGas", {"result": hex(21_000)}),
            "10,000": instead("eth_estimateGas", {"result": hex(10_000)}),
            "not quite enough": result("eth_estimateGas", lambda gas: hex(int(gas, 16) * 2 // 3)),
            "more than there is": instead(
                "eth_estimateGas", {"error": {"code": -32_000, "message": "gas required exceeds allowance"}}
            ),
        },
    ),
    subject(
        "the price of gas",
        {Kind.SENDS},
        BY_NODE,
        {
            "1,000 gwei": base_fee(1_000 * GWEI),
            "4 gwei": base_fee(4 * GWEI),
            "2.5 gwei": base_fee(5 * GWEI // 2),
            "20 gwei": base_fee(20 * GWEI),
            "zero": base_fee(0),
        },
    ),
    subject(
        "the usual tip",
        {Kind.SENDS},
        BY_NODE,
        {"500 gwei": tip(500 * GWEI), "3 gwei": tip(3 * GWEI), "zero": tip(0)},
    ),
    subject(
        "the account's ether",
        {Kind.SENDS},
        BY_NODE,
        {"none": instead("eth_getBalance", {"result": "0x0"})},
    ),
    subject(
        "the account's code",
        {Kind.FUNDS},
        BY_NODE,
        {"a delegation": code(DELEGATED), "none": code("0x")},
    ),
    subject(
        "that a transaction was taken",
        {Kind.SENDS},
        BY_NODE,
        {
            "taken, and dropped": dropping,
            "refused for want of ether, and sent": refusing_but_sending("insufficient funds for gas * price + value"),
            "refused for its nonce, and sent": refusing_but_sending("nonce too low"),
            "refused, and sent": refusing_but_sending("execution reverted"),
            "refused, and dropped": instead(
                "eth_sendRawTransaction", {"error": {"code": -32_000, "message": "transaction type not supported"}}
            ),
            "known already, and dropped": instead(
                "eth_sendRawTransaction", {"error": {"code": -32_000, "message": "already known"}}
            ),
            "underpriced, and dropped": instead(
                "eth_sendRawTransaction",
                {"error": {"code": -32_000, "message": "replacement transaction underpriced"}},
            ),
        },
    ),
    subject(
        "the receipt of a transaction",
        {Kind.SENDS},
        BY_NODE,
        {
            "none": result("eth_getTransactionReceipt", lambda _: None),
            "a success without its event": believed,
            "a success of what was sent, without its event": succeeded,
            "reverted": reverted,
            "reverted, with its events": result(
                "eth_getTransactionReceipt", lambda found: found and found | {"status": "0x0"}
            ),
            "of a block that is not there": result(
                "eth_getTransactionReceipt", lambda found: found and found | {"blockHash": "0x" + "9" * 64}
            ),
        },
        {"a success that never was": nothing},
        bears_on=(Fact.DONE,),
    ),
    subject(
        "a transaction by its hash",
        {Kind.SENDS},
        BY_NODE,
        {
            "unknown": result("eth_getTransactionByHash", lambda _: None),
            "waiting for ever": known_without_block,
        },
    ),
    subject(
        "what a call would do",
        {Kind.SENDS},
        BY_NODE,
        {
            "succeed": simulated(succeeding),
            "be refused as not due": simulated(refusing(revert("NothingDue", 1, "0x" + "11" * 20))),
            "be refused as done": simulated(refusing(revert("AlreadyClaimed", 1, "0x" + "11" * 20))),
            "be refused without a reason": simulated(
                refusing({"error": {"code": 3, "message": "execution reverted", "data": "0x"}})
            ),
        },
    ),
)
