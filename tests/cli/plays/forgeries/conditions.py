"""What is shown of everything around a bounty: rosters, fees, the token and the delivery key."""

from collections.abc import Callable
from typing import Any, Final

from bounty_protocol.domain.money.abi_hashes import guardian_roster_hash
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32, to_bytes

from tests.cli.ledger import ESCROW
from tests.cli.plays.acts import Act, Kind
from tests.cli.plays.facts import Fact
from tests.cli.plays.forgeries.answers import Answers, Fields, Json, hidden, invented, log_of, together, view, word
from tests.cli.plays.forgeries.chain import dropping
from tests.cli.plays.forgeries.makers import both, fields, moved, only, route, simulated, succeeding, token
from tests.cli.plays.forgeries.subject import BY_ANY, BY_NODE, Forger, subject
from tests.cli.plays.world import World
from tests.cli.servers import Params


def own_roster(kept: int, *, coherent: bool) -> Forger:
    """The operator's keys in the roster, but for the first ``kept``; where it is ``coherent``, under their own hash."""

    def forger(world: World, _act: Act) -> Answers:
        version = int(world.ledger.contract.call("currentRosterVersion"))
        _, quorum, accounts, true_keys, *_ = world.ledger.contract.call("getRoster", version)
        own = [to_bytes(each.public_key) for each in world.operators_keys]
        keys = [*list(true_keys)[:kept], *own[kept:]]
        named = [Bytes32("0x" + key.hex()) for key in keys]
        hashed = guardian_roster_hash(
            world.api.chain_id,
            world.hub_address,
            version=version,
            accounts=accounts,
            encryption_public_keys=named,
            quorum=quorum,
        )
        pinned = {"guardian_roster_hash": to_bytes(hashed)} if coherent else {}
        return together(
            view(world.hub_address, "getRoster", lambda _found, _arguments: {"encryption_keys": keys} | pinned),
            view(world.hub_address, "getBounty", lambda _found, _arguments: pinned),
        )

    return forger


def believed_roster(kept: int) -> Forger:
    """The same with all that follows: the Hub would take work sealed for it, and what is sent is not seen again."""
    return both(own_roster(kept, coherent=True), simulated(succeeding), dropping)


def announced(seconds: int) -> Forger:
    """Another roster takes effect so soon."""

    def change(world: World, _act: Act, found: Fields) -> Fields:
        return dict(zip(found, (9, int(world.now) + seconds), strict=True))

    return fields("announcedRoster", change)


def fees(change: Callable[[int, int], tuple[int, int]]) -> Forger:
    """Another fee policy, with the same recipient."""

    def changed(_world: World, _act: Act, found: Fields) -> Fields:
        protocol, guardian, recipient = found.values()
        return dict(zip(found, (*change(protocol, guardian), recipient), strict=True))

    return fields("feePolicy", changed)


# -------------------------------------------------------------------- the token

CANCELED: Final = "0x" + keccak256(b"AuthorizationCanceled(address,bytes32)").hex()
STATE: Final = "0xe94a0102"
"""``authorizationState``; a nonce of zero only serves to find out whether there are authorizations at all."""


def cancelled(world: World, act: Act) -> Answers:
    """The token has every authorization as cancelled, with its log, and the Hub no bounty of it."""
    requested: list[str] = []

    def altered(method: str, params: Params, found: Any) -> Any:
        call = params[0] if params else None
        if method != "eth_call" or not isinstance(call, dict) or not str(call.get("data", "")).startswith(STATE):
            return found
        nonce_of_it = "0x" + str(call["data"])[-64:]
        if int(nonce_of_it, 16) == 0:
            return found
        requested.append(nonce_of_it)
        return word(1)

    def log() -> Json | None:
        topics = [CANCELED, "0x" + world.account(act.person)[2:].rjust(64, "0"), *requested[-1:]]
        return log_of(world.block(), world.ledger.token.address, topics, "0x") if requested else None

    return together(Answers(altered=altered), invented(log), hidden("BountyCreated"))


# -------------------------------------------------------------------- what can be forged

SUBJECTS: Final = (
    subject(
        "the Guardians' keys",
        {Kind.SEALS, Kind.OPENS, Kind.FUNDS, Kind.DELIVERS},
        BY_ANY,
        {
            "the operator's": believed_roster(0),
            "the operator's but for one": believed_roster(1),
            "the operator's, under the true hash": own_roster(0, coherent=False),
        },
        bears_on=(Fact.ROSTER, Fact.CONDITIONS),
    ),
    subject(
        "which roster",
        {Kind.SEALS, Kind.OPENS, Kind.FUNDS, Kind.JUDGES, Kind.CLAIMS},
        BY_ANY,
        {
            "one that is none": both(moved("getBounty", roster_version=1), only("currentRosterVersion", 2)),
        },
        bears_on=(Fact.ROSTER, Fact.CONDITIONS),
    ),
    subject(
        "the announced roster",
        {Kind.FUNDS},
        BY_NODE,
        {"in half a minute": announced(30), "in ten minutes": announced(600)},
        bears_on=(Fact.CONDITIONS,),
    ),
    subject(
        "the fee policy",
        {Kind.FUNDS},
        BY_ANY,
        {
            "a basis point more": fees(lambda protocol, guardian: (protocol + 1, guardian)),
            "nothing": fees(lambda _protocol, _guardian: (0, 0)),
            "all of it": fees(lambda _protocol, _guardian: (9_000, 1_000)),
        },
        {"a basis point more, on a branch": lambda world, _act: world.raise_fees()},
        bears_on=(Fact.CONDITIONS,),
    ),
    subject(
        "what became of an authorization",
        {Kind.AUTHORIZES},
        BY_NODE,
        {
            "cancelled, with its log": cancelled,
            "used": token(STATE, lambda _: word(1)),
            "unused": token(STATE, lambda _: word(0)),
        },
        bears_on=(Fact.AUTHORIZATION_OVER,),
    ),
    subject(
        "the allowance",
        {Kind.ALLOWS},
        BY_NODE,
        {
            "none": token("0xdd62ed3e", lambda _: word(0)),
            "the escrow": token("0xdd62ed3e", lambda _: word(ESCROW)),
            "without an end": token("0xdd62ed3e", lambda _: word(2**256 - 1)),
        },
    ),
    subject(
        "the token's balance",
        {Kind.FUNDS},
        BY_NODE,
        {"nothing": token("0x70a08231", lambda _: word(0))},
    ),
    subject(
        "the token's decimals",
        {Kind.FUNDS, Kind.CLAIMS},
        BY_NODE,
        {
            "eighteen": token("0x313ce567", lambda _: word(18)),
            "none": token("0x313ce567", lambda _: word(0)),
        },
        bears_on=(Fact.CONDITIONS,),
    ),
    subject(
        "the delivery key",
        {Kind.DELIVERS},
        BY_ANY,
        {
            "the operator's": both(
                fields(
                    "deliveryKey",
                    lambda world, _a, found: dict.fromkeys(found, bytes.fromhex(world.operator.public_key[2:])),
                ),
                route(
                    "delivery_key",
                    lambda world, _request, answer: answer | {"delivery_public_key": world.operator.public_key},
                ),
            ),
        },
        bears_on=(Fact.DELIVERY_KEY,),
    ),
)
