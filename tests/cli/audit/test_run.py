"""``service-audit``: passes on the truth, and names each lie of the service and of the chain's endpoint."""

import copy
import json
from collections.abc import Callable, Iterator

import pytest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.withheld import Withheld
from service_cli.audit.history import BountyHistory

from tests.cli.api_twin import ApiTwin, withheld_error
from tests.cli.audited import Audited, differences, evidence, results
from tests.cli.bounty.test_listing import index_at
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import as_json
from tests.cli.terminal import Terminal

Path_ = tuple[str | int, ...]
ALWAYS_UNCHECKED = {"ciphertext"}


def leaves(value: object, path: Path_ = ()) -> Iterator[Path_]:
    """Every place of a JSON tree that holds a value; an empty list or null is one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    places = list(inner)
    if not places:
        yield path
    for key, each in places:
        yield from leaves(each, (*path, key))


def named(path: Path_) -> str:
    """A place as an audit names it."""
    words = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    if path[0] == "verification_record":
        return "record" + words.removeprefix(".verification_record")
    return "bounty" + words


def other(value: object) -> object:
    """A value of the same kind that is not this one."""
    if value is None:
        return "something"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list | dict):
        return ["something"]
    text = str(value)
    return text[:-1] + ("1" if text[-1] != "1" else "2")


def test_audit__of_the_truth__holds_and_says_what_was_not_checked(auditor: Terminal, audited: Audited) -> None:
    for bounty in (audited.awarded, audited.refunded, audited.silent):
        ran = auditor.audit(bounty)
        assert ran.last["event"] == "service_audit.finished"
        assert ran.last["differs"] == 0
        assert results(ran, "not_checked") == {"envelope", *ALWAYS_UNCHECKED}
        assert {"rules.outcome", "rules.amounts", "chain.views", "challenge", "record.log_digest"} <= results(
            ran, "holds"
        )
        record = json.loads(audited.details[bounty])["verification_record"]
        assert ran.last["log_digest"] == record["log_digest"]
        assert auditor.audit(bounty, "--strict", code=1).last["code"] == "audit_incomplete"


def test_audit__with_a_guardian_s_key__checks_the_envelope_too(
    ledger: Ledger, auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    key = ledger.people.guardians[0].wallet.private_key
    ran = auditor.audit(audited.awarded, "--sign-as", "guardian", SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=key)
    holding = {
        event["subject"] for event in ran.events if event.get("check") == "envelope" and event["result"] == "holds"
    }
    assert holding == {audited.commitment}
    assert len(api.approvals()) == 2  # the winner's, and the other Solver's, which nobody holds
    key = ledger.people.solvers[1].wallet.private_key
    refused = auditor.audit(audited.awarded, "--sign-as", "poster", code=1, SERVICE_POSTER_PRIVATE_KEY=key)
    assert (refused.last["code"], len(api.approvals())) == ("not_a_reader", 2)


def test_audit__an_api_that_lies_in_any_single_field__names_the_lie(
    histories: dict[str, BountyHistory], audited: Audited, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = 0
    for bounty, history in histories.items():
        truth = json.loads(audited.details[bounty])
        assert differences(history, evidence(audited, bounty, truth), capsys) == set()
        for path in leaves(truth):
            detail = copy.deepcopy(truth)
            place = detail
            for step in path[:-1]:
                place = place[step]
            true = place[path[-1]]
            for lie in (other(true), None) if bounty == audited.awarded else (other(true),):
                if lie == true:
                    continue
                place[path[-1]] = lie
                found = differences(history, evidence(audited, bounty, detail), capsys)
                told = {each for each in found if each.startswith(named(path))}
                assert told or (path == ("challenge",) and lie is None and found == {"bounty.error"}), (
                    f"service_cli/audit/service.py does not compare {named(path)} with the chain: {lie!r} instead of "
                    f"{true!r} was not found, but {found}"
                )
            if isinstance(place, dict):
                del place[path[-1]]
                found = differences(history, evidence(audited, bounty, detail), capsys)
                assert {each for each in found if each.startswith(named(path))} | (found & {"bounty.error"}), path
            seen += 1
    assert seen > 150


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda d: d.pop("verification_record"), "bounty"),
        (lambda d: d.update(verification_record_error={"code": "derivation_failed", "message": "x"}), "bounty"),
        (lambda d: d["verification_record"].update(extra=1), "record.extra"),
        (lambda d: d["verification_record"]["winner"].update(extra=1), "record.winner.extra"),
        (lambda d: d["verification_record"]["verdicts"].pop(), "record.verdicts[2]"),
        (lambda d: d["active_submissions"].append(d["active_submissions"][0]), "bounty.active_submissions[2]"),
        (lambda d: d.update(challenge=None), "bounty.error"),
        (lambda d: d.update(error={"code": "x"}), "bounty.error"),
        (lambda d: d.update(challenge="\ud800"), "bounty.challenge"),
    ],
)
def test_audit__a_detail_of_another_shape__names_the_place(
    histories: dict[str, BountyHistory],
    audited: Audited,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, object]], object],
    path: str,
) -> None:
    detail = json.loads(audited.details[audited.awarded])
    change(detail)
    service = evidence(audited, audited.awarded, detail)
    assert path in differences(histories[audited.awarded], service, capsys)


def test_audit__a_record_or_page_that_is_withheld__is_said_to_be_not_checked(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    detail = json.loads(audited.details[audited.awarded])
    detail.pop("verification_record")
    detail |= {
        "verification_record_error": {"code": "derivation_failed", "message": "x"},
        "challenge": None,
        "challenge_terms": None,
        "error": {"code": "bounty_challenge_content_mismatch"},
    }
    api.scripts["detail"] = lambda _: (200, json.dumps(detail).encode(), {})
    ran = auditor.audit(audited.awarded)
    assert {"record", "challenge"} <= results(ran, "not_checked")


def test_audit__of_what_the_operator_withholds__says_withheld_and_does_not_differ(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    notice = Withheld("An order of a court", UnixSeconds(1_800_000_000), None)
    detail = json.loads(audited.details[audited.awarded])
    detail |= {
        "challenge": None,
        "error": to_json(withheld_error("bounty_challenge_withheld", notice)),
        "withheld": to_json(notice),
    }
    api.scripts["detail"] = lambda _: (200, json.dumps(detail).encode(), {})
    api.withheld.update(dict.fromkeys(audited.verdicts, notice))
    ran = auditor.audit(audited.awarded)
    assert {"verdict", "challenge"} <= results(ran, "not_checked")
    assert results(ran, "differs") == set()
    said = [str(each) for each in ran.events if "An order of a court" in str(each)]
    assert said
    assert all("withheld" in each for each in said)


def test_audit__a_verdict_altered_swapped_or_withheld__is_named_by_its_commitment(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    first, second, *_ = sorted(audited.verdicts)
    for content in (audited.verdicts[first][:-1], audited.verdicts[second], b""):
        api.scripts["verdict_read"] = lambda request, content=content: (  # type: ignore[misc]
            (200, content, {}) if request.path.endswith(first) else None
        )
        bounty = (
            audited.awarded if audited.awarded.encode() in _frontmatter(audited.verdicts[first]) else audited.refunded
        )
        ran = auditor.audit(bounty, code=1)
        wrong = [event for event in ran.events if event.get("result") == "differs"]
        assert [(event["check"], event["subject"]) for event in wrong] == [("verdict", first)]
        assert first in str(ran.last["message"])
    api.scripts["verdict_read"] = lambda _: (
        404,
        b'{"error":{"code":"written_verdict_not_found","message":"x","issues":[],"next_action":"y"}}',
        {},
    )
    assert "verdict" in results(auditor.audit(audited.refunded), "not_checked")


def _frontmatter(document: bytes) -> set[bytes]:
    return {line.partition(b": ")[2] for line in document.splitlines() if line.startswith(b"bounty_id")}


def test_audit__an_api_that_does_not_answer__still_checks_the_chain(auditor: Terminal, audited: Audited) -> None:
    ran = auditor.audit(audited.awarded, SERVICE_API_BASE_URL="http://127.0.0.1:9")
    assert results(ran, "not_checked") == {"bounty", "record", "challenge", "verdict", "envelope", *ALWAYS_UNCHECKED}
    assert {"rules.outcome", "rules.amounts", "rules.claims", "chain.views"} <= results(ran, "holds")


def test_audit__of_an_index_that_is_late__does_not_take_older_signs_of_life_for_a_difference(
    auditor: Terminal, audited: Audited, api: ApiTwin
) -> None:
    detail = json.loads(audited.details[audited.awarded])
    for member in detail["guardian_roster"]["members"]:
        member["last_active_at"] = None
    api.scripts["detail"] = lambda _: as_json(detail)
    assert results(auditor.audit(audited.awarded, code=1), "differs") == {"bounty.last_active_at"}
    api.scripts["index"] = lambda _: as_json(index_at(api, 1_800_000_000))
    bundle = str(auditor.home / "late.zip")
    for ran in (auditor.audit(audited.awarded, "--bundle", bundle), auditor.audit("--from", bundle)):
        assert "bounty.last_active_at" in results(ran, "not_checked")
        assert results(ran, "differs") == set()


def test_audit__arguments_that_do_not_fit__are_usage_errors(auditor: Terminal) -> None:
    auditor.audit(code=2)
    auditor.audit("1", "--from", "x.zip", "--bundle", "y.zip", code=2)
    ran = auditor.audit("1", "0x" + "ab" * 32, code=2)
    assert "ab" * 32 not in ran.words


def test_audit__an_altered_field_through_the_whole_command__ends_with_exit_code_1_and_its_name(
    auditor: Terminal, api: ApiTwin, audited: Audited
) -> None:
    detail = lie_at("verification_record", "winner", "solver_address")(json.loads(audited.details[audited.awarded]))
    api.scripts["detail"] = lambda _: (200, json.dumps(detail).encode(), {})
    ran = auditor.audit(audited.awarded, code=1)
    assert (ran.last["event"], ran.last["code"]) == ("service_audit.refused", "audit_differs")
    assert ran.events[-2]["event"] == "service_audit.finished"
    assert results(ran, "differs") == {"record.winner"}
    assert "record.winner.solver_address" in ran.words
