"""What a wallet's node, or the API, can forge of the facts on which an act of the pages rests.

Each forgery is of one fact of the table of witnesses, told by one party. What both together can forge of the same fact
is listed in docs/threat-model.md.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eth_utils.abi import event_signature_to_log_topic, function_signature_to_4byte_selector

from tests.cli.liar import After, all_of, blocks_at, number_of, view_with, without_logs
from tests.cli.lies import Tell
from tests.cli.plays.facts import Fact
from tests.cli.servers import Params

TWO_HOURS: Final = 7_200
YEARS: Final = 5 * 365 * 86_400
OTHER: Final = "0x" + "5a" * 32
STRANGER: Final = "0x" + "5b" * 20
CREATED: Final = (
    "0x"
    + event_signature_to_log_topic(
        "BountyCreated(uint256,address,bytes32,bytes32,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address,bytes32)"
    ).hex()
)
STATE: Final = function_signature_to_4byte_selector("authorizationState(address,bytes32)").hex()
SUBMISSION: Final = function_signature_to_4byte_selector("getSubmission(uint256,address)").hex()

Before = Callable[[str, Params], dict[str, object] | None]


@dataclass(frozen=True)
class Forgery:
    """One party's word about one fact, told in the acts that rest on it."""

    name: str
    fact: Fact
    acts: tuple[str, ...]
    node: After | None = None
    before: Before | None = None
    api: Tell | None = None
    of_work: Callable[[str, str], After] | None = None
    """What the node answers by the Solver and commitment of the work that the act is about."""

    @property
    def by(self) -> str:
        return "the API" if self.api else "the node"

    def __str__(self) -> str:
        return f"{self.by} forges {self.fact.value}: {self.name}"


def call_of(selector: str, word: int | str) -> After:
    """A view with one value answers another one."""
    value = f"0x{word:064x}" if isinstance(word, int) else word

    def after(method: str, params: Params, result: object) -> object:
        call = params[0] if params else None
        is_it = method == "eth_call" and isinstance(call, dict) and str(call["data"]).startswith(f"0x{selector}")
        return value if is_it else result

    return after


def finalized_at(later: int) -> After:
    """The finalized block's time is another; the newest one's is not."""

    def after(method: str, params: Params, result: object) -> object:
        if method == "eth_getBlockByNumber" and params[0] == "finalized" and isinstance(result, dict):
            return {**result, "timestamp": hex(int(str(result["timestamp"]), 16) + later)}
        return result

    return after


def answered(name: str, value: Callable[[object], object]) -> After:
    """A method answers something else."""
    return lambda method, _params, result: value(result) if method == name else result


def swallowed(method: str, _params: Params) -> dict[str, object] | None:
    """Transactions are taken, and never sent on."""
    return {"result": OTHER} if method == "eth_sendRawTransaction" else None


def receipt(**fields: object) -> After:
    """Of a transaction that the node does not have, too."""
    made = {"transactionHash": OTHER, "blockNumber": "0x1", "blockHash": OTHER, "status": "0x1", "logs": []}
    return answered("eth_getTransactionReceipt", lambda _: made | fields)


def path_ends(question: str, end: str) -> bool:
    return question.startswith(("api ", "GET ", "POST ")) and question.endswith(end)


def api_answer(end: str, change: Callable[[Any], object]) -> Tell:
    """The API's answer below a path is another."""

    def tell(question: str, answer: object) -> object:
        return change(json.loads(json.dumps(answer))) if path_ends(question, end) else answer

    return tell


def facts_with(**values: object) -> Tell:
    """A bounty's detail has other facts."""
    return api_answer("/bounties/…", lambda answer: {**answer, "facts": {**answer["facts"], **values}})


def shifted(name: str, by: int) -> Tell:
    return api_answer(
        "/bounties/…", lambda answer: {**answer, "facts": {**answer["facts"], name: answer["facts"][name] + by}}
    )


def listed(change: Callable[[list[Mapping[str, object]]], object]) -> Tell:
    return api_answer(
        "/bounties/…", lambda answer: {**answer, "active_submissions": change(answer["active_submissions"])}
    )


INVENTED: Final = {"bounty_id": "1", "authorization_nonce": OTHER, "block_number": 1}


def funded(*rows: Mapping[str, object]) -> Tell:
    """These are the bounties on the page."""
    return api_answer("/subgraph", lambda _: {"data": {"bounties": list(rows)}})


def other_pair(each: Mapping[str, object]) -> Mapping[str, object]:
    return {**each, "submission_commitment": OTHER}


FUND: Final = ("publish",)
SEAL: Final = ("submit",)
JUDGE: Final = ("judge",)
DELIVER: Final = ("deliver", "deliver_undecided")
SENDS: Final = ("publish", "submit", "judge")


def won(solver: str, work: str) -> After:
    """A bounty is awarded to this work."""
    pair = {"winner": number_of(solver), "winningSubmission": number_of(work)}
    return view_with("getBounty", outcome=1, reason=1, **pair)


STRANGER_WINS: Final = {"winner": number_of(STRANGER), "winningSubmission": number_of(OTHER)}

FORGERIES: Final = (
    Forgery("two hours on", Fact.TIME, FUND, blocks_at(lambda time: time + TWO_HOURS)),
    Forgery("two hours back", Fact.TIME, FUND, blocks_at(lambda time: time - TWO_HOURS)),
    Forgery("five years on", Fact.TIME, FUND, blocks_at(lambda time: time + YEARS)),
    Forgery("a finalized block of two hours on", Fact.AUTHORIZATION_OVER, FUND, finalized_at(TWO_HOURS)),
    Forgery("it was cancelled", Fact.AUTHORIZATION_OVER, FUND, call_of(STATE, 1)),
    Forgery(
        "it was cancelled, two hours ago",
        Fact.AUTHORIZATION_OVER,
        FUND,
        all_of(call_of(STATE, 1), finalized_at(TWO_HOURS)),
    ),
    Forgery("a fee of a basis point more", Fact.CONDITIONS, FUND, view_with("feePolicy", word0=101)),
    Forgery(
        "other fees, and a finalized block of two hours on",
        Fact.CONDITIONS,
        FUND,
        all_of(view_with("feePolicy", word0=102), finalized_at(TWO_HOURS)),
    ),
    Forgery("no log of a bounty", Fact.UNFUNDED, FUND, without_logs(CREATED)),
    Forgery("no bounty on the page", Fact.UNFUNDED, FUND, api=funded()),
    Forgery("a bounty that is not there", Fact.UNFUNDED, FUND, api=funded(INVENTED)),
    Forgery("an earlier deadline", Fact.TERMS, SEAL, view_with("getBounty", submissionDeadline=2_000)),
    Forgery("a later deadline", Fact.TERMS, SEAL, api=shifted("submission_deadline", 60)),
    Forgery("a reveal point that has passed", Fact.REVEAL_POINT, SEAL, view_with("getBounty", revealAt=1_700_000_000)),
    Forgery(
        "a deadline and reveal point that have passed",
        Fact.REVEAL_POINT,
        SEAL,
        view_with("getBounty", submissionDeadline=1_700_000_000 - 300, revealAt=1_700_000_000),
    ),
    Forgery("a reveal point that has passed", Fact.REVEAL_POINT, SEAL, api=facts_with(reveal_at=1_700_000_000)),
    Forgery("another roster", Fact.ROSTER, SEAL, view_with("getBounty", guardianRosterHash=number_of(OTHER))),
    Forgery("another roster", Fact.ROSTER, SEAL, api=facts_with(guardian_roster_hash=OTHER)),
    Forgery("another Submission", Fact.NUMBER, JUDGE, call_of(SUBMISSION, OTHER)),
    Forgery("no Submission", Fact.NUMBER, JUDGE, call_of(SUBMISSION, 0)),
    Forgery("another Submission", Fact.NUMBER, JUDGE, api=listed(lambda found: [other_pair(each) for each in found])),
    Forgery("no Submissions", Fact.NUMBER, JUDGE, api=listed(lambda _: [])),
    Forgery("another winner", Fact.WINNER, DELIVER, view_with("getBounty", outcome=1, reason=1, **STRANGER_WINS)),
    Forgery(
        "another winner",
        Fact.WINNER,
        DELIVER,
        api=facts_with(winner={"solver_address": STRANGER, "submission_commitment": OTHER}),
    ),
    Forgery("undecided work has won", Fact.WINNER, DELIVER[1:], of_work=won),
    Forgery("no winner", Fact.WINNER, DELIVER, view_with("getBounty", outcome=0, winner=0, winningSubmission=0)),
    Forgery("transactions are swallowed", Fact.DONE, SENDS, before=swallowed),
    Forgery("a receipt without a log", Fact.DONE, SENDS, receipt()),
    Forgery("a swallowed transaction with a receipt", Fact.DONE, SENDS, receipt(), before=swallowed),
    Forgery("a receipt of failure", Fact.DONE, SENDS, receipt(status="0x0")),
    Forgery("a chain a million blocks on", Fact.DONE, SENDS, answered("eth_blockNumber", lambda _: hex(10**6))),
    Forgery("no logs", Fact.DONE, SENDS, answered("eth_getLogs", lambda _: [])),
)


def together(forgeries: tuple[Forgery, ...], work: tuple[str, str] | None) -> tuple[Before, After, Tell]:
    """What the node and the API answer while all of these are told, in an act about this work of a Solver."""
    made = [each.of_work(*work) for each in forgeries if each.of_work and work]

    def before(method: str, params: Params) -> dict[str, object] | None:
        answers = (each.before(method, params) for each in forgeries if each.before)
        return next((found for found in answers if found is not None), None)

    def tell(question: str, answer: object) -> object:
        for each in forgeries:
            if each.api:
                answer = each.api(question, answer)
        return answer

    return before, all_of(*made, *(each.node for each in forgeries if each.node)), tell
