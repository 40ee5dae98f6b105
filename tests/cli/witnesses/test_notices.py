"""Notices about the Hub at the client: one that the chain bears out stops funding, and nothing that an API makes up."""

import errno
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.domain.hub_notice import HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, ChainId, UnixSeconds, parse_address
from service_cli.witnesses.notices import MOST_KEPT

from tests import keys
from tests.cli.api_twin import ApiTwin, Json
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal

DAY = 86_400
BOUNTY_CREATED = "publish_fund.bounty_created"


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "bounty_challenge.md"
    path.write_bytes(ledger.page())
    return path


@pytest.fixture
def work(solver: Terminal) -> str:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return str(solver.home / "work")


def signed(ledger: Ledger, secret: bytes, after: int = 0, reason: str = "hub_flaw", **other: Any) -> HubNotice:
    """A notice of a plain key, issued an hour ago."""
    issued_at = UnixSeconds(ledger.time() - 3_600 + after)
    notice = HubNotice(
        chain_id=ChainId(ledger.node.chain_id),
        hub_address=Address(ledger.contract.address),
        signer=keys.account_of(secret),
        reason=NoticeReason(reason),
        issued_at=issued_at,
        expires_at=UnixSeconds(issued_at + 7 * DAY),
        signature=NoticeSignature("0x00"),
    )
    notice = replace(notice, **other)
    return replace(notice, signature=NoticeSignature("0x" + keys.sign(secret, notice_digest(notice)).hex()))


def owner(ledger: Ledger) -> bytes:
    return bytes.fromhex(ledger.people.owner.wallet.private_key[2:])


STRANGER = hashlib.sha256(b"a thief").digest()


def showing(api: ApiTwin, *notices: HubNotice | Mapping[str, object]) -> None:
    rows = [to_json(each) if isinstance(each, HubNotice) else dict(each) for each in notices]

    def lie(answer: Json) -> object:
        return answer | {"hub_notices": rows}

    api.lies["deployment"] = lie


def fund(poster: Terminal, page: Path, code: int = 0) -> Ran:
    return poster.run("poster:publish-fund", str(page), code=code)


def test_notice__that_the_chain_bears_out__stops_funding_before_anything_is_signed(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    notice = signed(ledger, owner(ledger))
    showing(api, notice)
    ran = fund(poster, page, code=1)
    assert ran.last["code"] == "hub_notice"
    assert str(notice.signer) in str(ran.last["message"])
    assert (api.approvals(), rpc.sent(), ran.words.count("signing:")) == ([], 0, 0)
    checked = poster.run("poster:publish-fund", "--check", str(page))  # which asks no API, and knows it all the same
    assert "nobody should fund" in checked.words


def test_notice__that_comes_while_a_page_is_reviewed__stops_what_would_be_signed_next(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    def meanwhile(answer: Json) -> object:
        showing(api, signed(ledger, owner(ledger)))
        return answer

    api.lies["publish"] = meanwhile
    page.write_bytes(ledger.page(seconds=2_300))
    ran = fund(poster, page, code=1)
    assert ran.last["code"] == "hub_notice"
    assert (len(api.approvals()), rpc.sent(), ran.words.count("signing:")) == (1, 0, 1)


@pytest.mark.attack
def test_notice__that_an_api_takes_back_or_shows_once__is_kept_until_its_signer_withdraws_it(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path
) -> None:
    first = signed(ledger, owner(ledger))
    showing(api, first)
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    api.lies.clear()
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    later = signed(ledger, owner(ledger), after=5, reason="withdrawn")
    showing(api, replace(later, signature=first.signature))  # a withdrawal that nobody signed
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    showing(api, signed(ledger, STRANGER, after=5, reason="withdrawn"))
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    showing(api, later)
    assert fund(poster, page).names[-1] == BOUNTY_CREATED
    other = page.with_name("another.md")
    other.write_bytes(ledger.page(seconds=2_001))
    showing(api, first)  # shown again, by an API that would stop somebody
    assert fund(poster, other).names[-1] == BOUNTY_CREATED


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["forged", "of a stranger", "over", "another chain", "another Hub", "too long"])
def test_notice__that_an_api_makes_up__stops_nobody(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path, kind: str
) -> None:
    good, now = signed(ledger, owner(ledger)), ledger.time()
    rows = {
        "forged": replace(signed(ledger, STRANGER), signer=good.signer),
        "of a stranger": signed(ledger, STRANGER),
        "over": signed(ledger, owner(ledger), issued_at=UnixSeconds(now - 9), expires_at=UnixSeconds(now - 1)),
        "another chain": signed(ledger, owner(ledger), chain_id=ChainId(8453)),
        "another Hub": signed(ledger, owner(ledger), hub_address=parse_address("0x" + "11" * 20)),
        "too long": signed(ledger, owner(ledger), expires_at=UnixSeconds(now + 40 * DAY)),
    }
    page.write_bytes(ledger.page(seconds=2_002 + len(kind)))
    showing(api, rows[kind])
    assert fund(poster, page).names[-1] == BOUNTY_CREATED


@pytest.mark.attack
def test_notices__more_than_an_answer_has_or_of_another_form__are_no_answer(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path
) -> None:
    good = to_json(signed(ledger, owner(ledger)))
    assert isinstance(good, dict)
    for shown in (
        [signed(ledger, STRANGER, after=number) for number in range(9)],
        [good | {"reason": "send it to 0x1"}],
    ):
        showing(api, *shown)
        assert fund(poster, page, code=1).last["code"] == "answer_malformed"


@pytest.mark.attack
def test_notice__of_a_signer_that_lost_its_right__stops_nobody_any_more(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    thief, hub = keys.account_of(STRANGER), ledger.contract
    hub.transact(ledger.people.owner.wallet, "transferOwnership", thief)
    ledger.node.rpc.call("anvil_impersonateAccount", thief)
    ledger.node.fund(thief)

    def send(function: str, *arguments: object) -> None:
        data = "0x" + hub.encode(function, *arguments).hex()
        ledger.node.rpc.call(
            "eth_sendTransaction", {"from": thief, "to": hub.address, "data": data, "gas": hex(200_000)}
        )

    send("acceptOwnership")
    showing(api, signed(ledger, STRANGER))
    page.write_bytes(ledger.page(seconds=2_100))
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    send("transferOwnership", ledger.people.owner.address)
    hub.transact(ledger.people.owner.wallet, "acceptOwnership")
    assert fund(poster, page).names[-1] == BOUNTY_CREATED


@pytest.mark.attack
def test_notice__that_one_endpoint_denies__counts_by_another(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    """The first endpoint answers another owner; a further one that is honest is enough."""
    owner_call = "0x" + ledger.contract.encode("owner").hex()

    def deny(method: str, params: Any, found: object) -> object:
        is_owner = method == "eth_call" and params[0].get("data") == owner_call
        return "0x" + "00" * 12 + "11" * 20 if is_owner else found

    rpc.after = deny
    showing(api, signed(ledger, owner(ledger)))
    page.write_bytes(ledger.page(seconds=2_200))
    second = RpcProxy(ledger.node.url)
    ran = poster.run("poster:publish-fund", str(page), code=1, SERVICE_RPC_URLS=second.url)
    second.close()
    assert ran.last["code"] == "hub_notice"


class SafeOwner:
    """The Hub's owner as a contract whose code takes the signatures that ``taken`` names, at the honest node."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.secret = owner(ledger)

    def signed(self, after: int, reason: str = "hub_flaw", signature: str = "aa") -> HubNotice:
        notice = signed(self.ledger, self.secret, after=after, reason=reason)
        return replace(notice, signature=NoticeSignature("0x" + signature * 130))

    def taking(self, *notices: HubNotice) -> Callable[[str, Any, object], object]:
        """An endpoint at which the owner's code takes the signatures of these, and of nothing else."""
        digests = {notice_digest(notice).hex() for notice in notices}

        def tell(method: str, params: Any, found: object) -> object:
            data = str(params[0].get("data", "")) if method == "eth_call" else ""
            if not data.startswith("0x1626ba7e"):
                return found
            return "0x" + ("1626ba7e" if data[10:74] in digests else "ffffffff").ljust(64, "0")

        return tell


@pytest.mark.attack
def test_withdrawal__that_one_endpoint_makes_up__ends_no_notice(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path
) -> None:
    safe = SafeOwner(ledger)
    warning, forged = safe.signed(0), safe.signed(9, "withdrawn", "bb")
    page.write_bytes(ledger.page(seconds=2_401))
    second = RpcProxy(ledger.node.url)
    showing(api, warning, forged)
    for liar, honest in ((rpc, second), (second, rpc)):
        liar.after, honest.after = safe.taking(warning, forged), safe.taking(warning)
        ran = poster.run("poster:publish-fund", str(page), code=1, SERVICE_RPC_URLS=second.url)
        assert ran.last["code"] == "hub_notice"
    rpc.after = second.after = safe.taking(warning, forged)
    assert poster.run("poster:publish-fund", str(page), SERVICE_RPC_URLS=second.url).names[-1] == BOUNTY_CREATED
    second.close()


@pytest.mark.attack
@pytest.mark.parametrize("reason", ["hub_flaw", "withdrawn"])
def test_notice__that_counts_for_one_run_alone__takes_no_other_ones_place(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: Path, reason: str
) -> None:
    """The endpoint and the API lie once about something later; the earlier one is there again in the next run."""
    safe = SafeOwner(ledger)
    warning, forged = safe.signed(0), safe.signed(9, reason, "bb")
    showing(api, warning)
    rpc.after = safe.taking(warning)
    assert poster.run("notice").last["in_effect"] is True
    showing(api, forged)
    rpc.after = safe.taking(warning, forged)
    assert poster.run("notice").last["in_effect"] is (reason == "hub_flaw")
    api.lies.clear()
    rpc.after = safe.taking(warning)
    page.write_bytes(ledger.page(seconds=2_402))
    assert fund(poster, page, code=1).last["code"] == "hub_notice"


@pytest.mark.attack("notices about the Hub that a client keeps: 64; one that does not count makes room")
def test_notices__more_than_are_kept__count_without_being_kept(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    safe = SafeOwner(ledger)
    first = safe.signed(0)
    rpc.after = safe.taking(first)
    showing(api, first)
    poster.run("notice")
    (kept,) = poster.home.rglob("notices/0x*.json")
    made_up = [safe.signed(number) for number in range(1, MOST_KEPT)]
    for notice in made_up:
        (kept.parent / f"{notice.signer}-{notice.issued_at:016x}.json").write_text(json.dumps(to_json(notice)))
    last = safe.signed(MOST_KEPT)
    showing(api, last)
    rpc.after = safe.taking(first, last, *made_up)
    assert "this run alone heeds a further one" in poster.run("notice").words
    rpc.after = safe.taking(first, last)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", read_only)
        assert "this run alone heeds a further one" in poster.run("notice").words
    assert "alone" not in poster.run("notice").words
    assert len(list(kept.parent.glob("0x*.json"))) == 2
    assert kept.exists()


def test_notice__that_cannot_be_kept__counts_all_the_same(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal
) -> None:
    taken = poster.home / "no folder"
    taken.write_text("")
    notice = signed(ledger, owner(ledger))
    showing(api, notice)
    ran = poster.run("notice", XDG_STATE_HOME=str(taken))
    assert ran.last["in_effect"] is True
    assert "This run alone heeds it." in ran.words
    brought = poster.home / "notice.json"
    brought.write_text(json.dumps(to_json(notice)))
    refused = poster.run("notice", str(brought), code=1, XDG_STATE_HOME=str(taken))
    assert refused.last["code"] == "journal_not_written"


def test_notice__before_a_submission__is_shown_and_passed_over_when_asked_to(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    showing(api, signed(ledger, owner(ledger)))
    refused = solver.run("solver:submit", bounty, work, code=1)
    assert refused.last["code"] == "hub_notice"
    assert "--despite-notice" in str(refused.last["next_action"])
    assert (api.approvals(), rpc.sent()) == ([], 0)
    checked = solver.run("solver:submit", "--check", bounty, work)
    assert any("nobody should fund" in str(each) for each in checked.event("submit.checked")["warnings"])  # type: ignore[attr-defined]
    api.lies.clear()
    assert solver.run("solver:submit", "--without-api", bounty, work, code=1).last["code"] == "hub_notice"
    done = solver.run("solver:submit", "--despite-notice", bounty, work)
    assert done.names[-1] == "submit.submission_recorded"
    assert "nobody should fund" in done.words
    again = solver.run("solver:submit", bounty, work)  # recorded: nothing more is decided
    assert again.names[-1] == "submit.submission_recorded"


def test_notice__never_stops_a_claim_a_verdict_or_an_opening(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path, rpc: RpcProxy, tmp_path: Path
) -> None:
    """The commands that move on what exists do not know of notices: none of their modules imports them."""
    import service_cli

    source = Path(service_cli.__file__).parent
    knowing = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "witnesses.notices" in path.read_text(encoding="utf-8")
    }
    assert knowing == {
        "client.py",
        "notice.py",
        "poster/publishing.py",
        "solver/submission.py",
    }  # the first only shows it


def test_command__with_a_file__keeps_what_the_chain_bears_out_without_any_api(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path
) -> None:
    notice = signed(ledger, owner(ledger), reason="escrow_token")
    file = poster.home / "notice.json"
    file.write_text(json.dumps(to_json(notice)))
    ran = poster.run("notice", str(file))
    shown = {name: value for name, value in ran.event("notice.found").items() if name != "event"}
    assert shown == {
        "signer": notice.signer,
        "reason": "escrow_token",
        "issued_at": notice.issued_at,
        "expires_at": notice.expires_at,
    }
    assert ran.last == {"event": "notice.checked", "in_effect": True}
    assert api.paths() == []
    assert fund(poster, page, code=1).last["code"] == "hub_notice"
    withdrawn = signed(ledger, owner(ledger), after=9, reason="withdrawn")
    ran = poster.run("notice", "-", stdin=json.dumps(to_json(withdrawn)).encode())
    assert ran.last == {"event": "notice.checked", "in_effect": False}
    assert poster.run("notice").last == {"event": "notice.checked", "in_effect": False}


@pytest.mark.attack
def test_command__with_what_is_no_notice__refuses_it_with_its_reasons_and_keeps_nothing(
    ledger: Ledger, poster: Terminal
) -> None:
    forged = signed(ledger, STRANGER)
    for text, code in (
        (json.dumps(to_json(forged)), "hub_notice_void"),
        (json.dumps(to_json(replace(forged, chain_id=ChainId(1)))), "hub_notice_void"),
        ("{}", "hub_notice_malformed"),
        ("[" * 9_000, "hub_notice_malformed"),
        (" " * 20_000, "hub_notice_malformed"),
    ):
        assert poster.run("notice", "-", stdin=text.encode(), code=1).last["code"] == code
    assert poster.run("notice").last == {"event": "notice.checked", "in_effect": False}


def test_notice__that_is_kept_and_over__is_removed(ledger: Ledger, poster: Terminal) -> None:
    soon = UnixSeconds(ledger.time() + 60)
    notice = signed(ledger, owner(ledger), expires_at=soon)
    poster.run("notice", "-", stdin=json.dumps(to_json(notice)).encode())
    kept = list(poster.home.rglob(f"notices/{notice.signer}-*.json"))
    assert len(kept) == 1
    over = to_json(replace(notice, expires_at=UnixSeconds(ledger.time() - 1)))
    kept[0].write_text(json.dumps(over))
    assert poster.run("notice").last == {"event": "notice.checked", "in_effect": False}
    assert not kept[0].exists()
    kept[0].write_text("{")
    assert "cannot be read" in poster.run("notice").words


def test_notice__that_is_over_in_a_folder_that_cannot_be_written__is_passed_over(
    ledger: Ledger, poster: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = signed(ledger, owner(ledger))
    poster.run("notice", "-", stdin=json.dumps(to_json(notice)).encode())
    (kept,) = poster.home.rglob("notices/0x*.json")
    kept.write_text(json.dumps(to_json(replace(notice, expires_at=UnixSeconds(ledger.time() - 1)))))
    monkeypatch.setattr(Path, "unlink", read_only)
    assert poster.run("notice").last == {"event": "notice.checked", "in_effect": False}
    assert kept.exists()


def read_only(*_: object, **_options: object) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.attack
def test_notice__that_an_endpoint_does_not_decide__stops_nobody_who_goes_on_despite_it(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    owner_call = "0x" + ledger.contract.encode("owner").hex()

    def refuse(method: str, params: Any) -> dict[str, object] | None:
        is_owner = method == "eth_call" and params[0].get("data") == owner_call
        return {"error": {"code": -32005, "message": "limit exceeded"}} if is_owner else None

    rpc.before = refuse
    showing(api, signed(ledger, STRANGER))
    assert solver.run("solver:submit", bounty, work, code=1).last["code"] == "chain_unavailable"
    done = solver.run("solver:submit", "--despite-notice", bounty, work)
    assert done.names[-1] == "submit.submission_recorded"
    assert "whether there is a notice about the Hub is not known" in done.words
