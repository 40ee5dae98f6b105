"""Forgeries of any kind: a result of a method, a view of the Hub or the token, a simulation, an answer of a route."""

import json
from collections.abc import Callable
from typing import Any, Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.gas import GAS_NEEDS
from eth_abi.abi import encode

from tests.cli.api_twin import refusal
from tests.cli.plays.acts import Act
from tests.cli.plays.forgeries.answers import Answers, Fields, Json, result_of, together, token_answer, view
from tests.cli.plays.forgeries.subject import Forger
from tests.cli.plays.world import World
from tests.cli.servers import Params, Reply, Request, as_json


def result(method: str, value: Callable[[Any], Any]) -> Forger:
    """Another result of a method."""
    return lambda _world, _act: result_of(method, value)


def instead(method: str, answer: Json) -> Forger:
    """An answer of a method without querying the node."""
    return lambda _world, _act: Answers(lambda called, _params: answer if called == method else None)


def both(*several: Forger) -> Forger:
    """Several at once."""
    return lambda world, act: together(*(each(world, act) for each in several))


def fields(function: str, change: Callable[[World, Act, Fields], Fields]) -> Forger:
    """A Hub's view with other fields."""
    return lambda world, act: view(world.hub_address, function, lambda found, _arguments: change(world, act, found))


def fixed(function: str, **values: object) -> Forger:
    """A Hub's view with these fields."""
    return fields(function, lambda _world, _act, _found: values)


def only(function: str, value: object) -> Forger:
    """A Hub's view with one output."""
    return fields(function, lambda _world, _act, found: dict.fromkeys(found, value))


def moved(function: str, **by: int) -> Forger:
    """A Hub's view with some of its numbers moved."""
    return fields(function, lambda _world, _act, found: {name: found[name] + step for name, step in by.items()})


def token(selector: str, value: Callable[[str], str]) -> Forger:
    """What the token answers to calls that begin so."""
    return lambda world, _act: token_answer(world.ledger.token.address, selector, value)


# -------------------------------------------------------------------- simulations

_CHANGING: Final = (
    *("submit", "recordVerdict", "claim", "claimRefund", "claimGuardianFee"),
    *("createBounty", "createBountyWithAuthorization"),
)
_FUNCTIONS: Final = {"0x" + hub_abi().functions[name].selector.hex(): name for name in _CHANGING}


def simulated(answer: Callable[[str, str], Json]) -> Forger:
    """What a call of the Hub that changes something would do; ``answer`` gets the method and the function."""

    def found(method: str, params: Params) -> Json | None:
        call = params[0] if params else None
        name = _FUNCTIONS.get(str(call.get("data", ""))[:10]) if isinstance(call, dict) else None
        return answer(method, name) if method in {"eth_call", "eth_estimateGas"} and name is not None else None

    return lambda _world, _act: Answers(found)


def succeeding(method: str, function: str) -> Json:
    """As a call that the Hub takes."""
    return {"result": "0x" if method == "eth_call" else hex(GAS_NEEDS[function].used)}


def refusing(error: Json) -> Callable[[str, str], Json]:
    """As a call that the Hub refuses."""
    return lambda _method, _function: error


def revert(error: str, *values: object) -> Json:
    """A refusal of the Hub by its name."""
    found = next(each for each in hub_abi().errors.values() if each.name == error)
    data = found.selector + encode([each.type for each in found.inputs], values)
    return {"error": {"code": 3, "message": "execution reverted", "data": "0x" + data.hex()}}


# -------------------------------------------------------------------- routes of the API


def route(name: str, change: Callable[[World, Request, Json], Json]) -> Forger:
    """A JSON answer of a route, changed."""

    def replied(world: World, request: Request, reply: Reply) -> Reply:
        good = reply[0] in {200, 201}
        return as_json(change(world, request, json.loads(reply[1])), reply[0]) if good else reply

    return reply_of(name, replied)


def reply_of(name: str, change: Callable[[World, Request, Reply], Reply]) -> Forger:
    """Another reply of a route."""

    def forger(world: World, _act: Act) -> Answers:
        def replied(requested: str, request: Request, reply: Reply) -> Reply:
            return change(world, request, reply) if requested == name else reply

        return Answers(replied=replied)

    return forger


def refuses(names: tuple[str, ...], status: int, code: str) -> Forger:
    """A refusal of every one of these routes."""
    return both(*(reply_of(name, lambda *_: refusal(status, code, "Not today.")) for name in names))
