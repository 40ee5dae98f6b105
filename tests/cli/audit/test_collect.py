"""``service-audit`` against an endpoint that hides or alters what the chain says, and of what is not final."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from bounty_protocol.chain.rpc_answers import RANGE_BYTES
from bounty_protocol.domain.hub_events import SubmissionRecorded
from bounty_protocol.types import HexData
from service_cli.audit.history import BountyHistory, read_history
from service_cli.audit.report import Report
from service_cli.audit.rules import check_views
from service_cli.bounty import facts
from service_cli.errors import CommandRefused

from tests.cli.api_twin import ApiTwin
from tests.cli.audited import Audited, differences, evidence, results
from tests.cli.ledger import Ledger
from tests.cli.servers import Params, RpcProxy, as_json
from tests.cli.terminal import Terminal


def drop(event: str) -> Callable[[str, Params, object], object]:
    """An endpoint that hides one event's newest log."""
    from bounty_protocol.chain.abi import hub_abi

    topic = hub_abi().event(event).topic

    def alter(method: str, _: Params, result: object) -> object:
        if method != "eth_getLogs" or not isinstance(result, list):
            return result
        found = [log for log in result if log["topics"][0] == topic]
        return [log for log in result if log not in found[-1:]]

    return alter


@pytest.mark.parametrize(
    ("event", "check"),
    [
        ("SubmissionRecorded", "bounty.active_submissions"),
        ("VerdictRecorded", "chain.views"),
        ("AwardClaimed", "chain.views"),
    ],
)
def test_audit__an_endpoint_that_hides_a_log__is_contradicted_by_the_hub_s_views_or_the_service(
    auditor: Terminal, rpc: RpcProxy, audited: Audited, event: str, check: str
) -> None:
    rpc.after = drop(event)
    assert check in results(auditor.audit(audited.awarded, code=1), "differs")


@pytest.mark.attack
def test_audit__an_endpoint_that_answers_more_than_is_read__is_asked_in_parts(
    auditor: Terminal, rpc: RpcProxy, audited: Audited
) -> None:
    def long(method: str, params: Params, result: object) -> object:
        place = params[0] if params else None
        if method != "eth_getLogs" or not isinstance(place, dict):
            return result
        blocks = int(str(place["toBlock"]), 16) - int(str(place["fromBlock"]), 16) + 1
        return ["0x" + "0" * RANGE_BYTES] if blocks > 16 else result

    rpc.after = long
    assert results(auditor.audit(audited.awarded), "differs") == set()
    assert rpc.calls.count("eth_getLogs") > 2


@pytest.mark.parametrize("event", ["BountyCreated", "BountyFinalized"])
def test_audit__without_beginning_or_end__is_refused(
    auditor: Terminal, rpc: RpcProxy, audited: Audited, event: str
) -> None:
    rpc.after = drop(event)
    assert auditor.audit(audited.awarded, code=1).last["code"] == "log_incomplete"


@pytest.mark.parametrize("event", ["BountyCreated", "SubmissionRecorded", "VerdictRecorded", "BountyFinalized"])
def test_audit__a_log_altered_in_any_word__is_never_found_to_hold(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str], event: str
) -> None:
    from bounty_protocol.chain.abi import hub_abi

    history = histories[audited.awarded]
    topic = hub_abi().event(event).topic
    index = next(i for i, log in enumerate(history.chain.logs) if log.topics[0] == topic)
    log = history.chain.logs[index]
    service = evidence(audited, audited.awarded, json.loads(audited.details[audited.awarded]))
    for word in range(len(log.data) // 32):
        data = bytearray(log.data)
        data[word * 32 + 31] ^= 1
        logs = list(history.chain.logs)
        logs[index] = replace(log, data=bytes(data))
        try:
            assert differences(read_history(replace(history.chain, logs=tuple(logs))), service, capsys), word
        except CommandRefused as refused:
            assert refused.code == "log_incomplete"


def test_audit__a_roster_that_is_not_the_pinned_one__differs(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    history = histories[audited.awarded]
    service = evidence(audited, audited.awarded, json.loads(audited.details[audited.awarded]))
    index = next(i for i, read in enumerate(history.chain.reads) if read.function == "getRoster")
    answer = history.chain.reads[index].answer
    since, last_signs = 6, len(answer) // 32 - 3  # from when it was in effect binds nothing; signs of life move
    for word in sorted(set(range(last_signs)) - {since}):
        altered = bytearray(answer)
        altered[word * 32 + 31] ^= 1
        reads = list(history.chain.reads)
        reads[index] = replace(reads[index], answer=HexData(bytes(altered)))
        try:
            assert differences(read_history(replace(history.chain, reads=tuple(reads))), service, capsys), word
        except CommandRefused as refused:
            assert refused.code == "log_incomplete"


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        (lambda created: {"data": {"bounties": [{"block_number": created}]}}, 1),
        (lambda created: {"data": {"bounties": [{"block_number": created + 1}]}}, 2),
        (lambda _: {"data": {"bounties": []}}, 1),
        (lambda _: {"data": None, "errors": []}, 1),
        (lambda _: {"data": {"bounties": [{"block_number": "7"}]}}, 1),
        (lambda _: {"data": {"bounties": [{"block_number": -1}]}}, 1),
    ],
)
def test_audit__of_a_long_log__begins_where_the_index_says_and_trusts_nothing_of_it(
    auditor: Terminal,
    api: ApiTwin,
    rpc: RpcProxy,
    audited: Audited,
    histories: dict[str, BountyHistory],
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[int], object],
    steps: int,
) -> None:
    monkeypatch.setattr(facts, "LONG_LOG", 0)
    created = histories[audited.awarded].created.origin.block_number
    api.scripts["subgraph"] = lambda _: as_json(answer(created))
    ran = auditor.audit(audited.awarded)
    assert ran.last["differs"] == 0
    assert rpc.calls.count("eth_getLogs") == steps
    assert ("reading the whole log instead" in ran.words) == (steps == 2)


def test_audit__of_what_is_not_final__is_refused(
    ledger: Ledger, auditor: Terminal, rpc: RpcProxy, audited: Audited
) -> None:
    bounty, _ = ledger.fund()
    ledger.node.mine(3)
    assert auditor.audit(str(bounty), code=1).last["code"] == "bounty_open"
    assert auditor.audit("987654", code=1).last["code"] == "bounty_not_found"
    before = json.loads(audited.details[audited.awarded])["block"]["number"] - 1
    early = ledger.node.rpc.call("eth_getBlockByNumber", hex(before), False)
    rpc.after = lambda method, params, result: (
        early if method == "eth_getBlockByNumber" and params[0] == "finalized" else result
    )
    assert auditor.audit(audited.awarded, code=1).last["code"] == "not_finalized"


def test_audit__a_view_altered_in_any_word__is_contradicted_by_the_log(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = set()
    for history in histories.values():
        for index, read in enumerate(history.chain.reads):
            for word in range(len(read.answer) // 32 if read.function != "getRoster" else 0):
                altered = bytearray(read.answer)
                altered[word * 32 + 31] ^= 1
                reads = list(history.chain.reads)
                reads[index] = replace(read, answer=HexData(bytes(altered)))
                capsys.readouterr()
                report = Report()
                check_views(replace(history, chain=replace(history.chain, reads=tuple(reads))), report)
                assert report.differing == ["chain.views"], (read.function, word)
                seen.add(read.function)
    assert seen == {"getBounty", "getVerdict", "getSubmission"}


def test_audit__a_winner_s_envelope_of_another_bounty__is_told_field_by_field(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    history, other = histories[audited.awarded], histories[audited.refunded]
    commitment = other.active_submissions()[0].event.submission_commitment
    events = [
        replace(each, event=replace(each.event, submission_commitment=commitment))
        if isinstance(each.event, SubmissionRecorded) and each.event.solver == audited.solver
        else each
        for each in history.events
    ]
    end = replace(history.finalized, event=replace(history.finalized.event, submission_commitment=commitment))
    altered = replace(history, events=tuple(events), finalized=end)
    service = evidence(audited, audited.awarded, json.loads(audited.details[audited.awarded]))
    assert {"bounty_id", "spec_commitment"} <= differences(altered, service, capsys)
