"""A bounty that a Poster without ether signs and somebody else sends: created once, by nothing that was changed."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from local_stack.contract import Wallet
from service_cli.poster.hand_over import MOST_BYTES

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Ran, Terminal

FILE = "funding.json"


@dataclass(frozen=True)
class Pair:
    """A Poster who holds tokens and no ether, and a sponsor who holds ether and no tokens."""

    ledger: Ledger
    poster: Terminal
    sponsor: Terminal
    wallet: Wallet
    page: Path
    file: Path

    @property
    def account(self) -> str:
        return self.wallet.address

    def hand_over(self, *options: str, code: int = 0) -> Ran:
        return self.poster.run(
            "poster:publish-fund", "--hand-over", str(self.file), str(self.page), *options, code=code
        )

    def fund(self, *options: str, code: int = 0) -> Ran:
        return self.sponsor.run("sponsor:fund", str(self.file), *options, code=code)

    def paid(self) -> int:
        return ESCROW - int(self.ledger.token.call("balanceOf", self.account))

    def change(self, **fields: Any) -> None:
        """The file as somebody who wants something else would hand it on."""
        value = json.loads(self.file.read_text(encoding="utf-8"))
        self.file.write_text(json.dumps(value | fields), encoding="utf-8")

    def terms(self) -> list[str]:
        found: list[str] = json.loads(self.file.read_text(encoding="utf-8"))["terms"]
        return found


@pytest.fixture
def pair(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Pair:
    poster, sponsor = Wallet(), Wallet()
    ledger.node.fund(sponsor.address)
    holder = ledger.people.poster.wallet
    holder.forget_nonce()
    ledger.token.transact(holder, "transfer", poster.address, ESCROW)
    given = {**api.variables(), "SERVICE_RPC_URL": rpc.url}
    homes = [tmp_path / "poster", tmp_path / "sponsor"]
    for home in homes:
        home.mkdir()
    page = homes[0] / "page.md"
    page.write_bytes(ledger.page(seconds=20_000))
    return Pair(
        ledger,
        Terminal(homes[0], {**given, "SERVICE_POSTER_PRIVATE_KEY": poster.private_key}),
        Terminal(homes[1], {**given, "SERVICE_SPONSOR_PRIVATE_KEY": sponsor.private_key}),
        poster,
        page,
        tmp_path / FILE,
    )


def balance(ledger: Ledger, account: str) -> int:
    return int(ledger.node.w3.eth.get_balance(ledger.node.w3.to_checksum_address(account)))


def test_poster__without_ether__is_funded_by_a_sponsor_who_pays_the_gas_alone(pair: Pair) -> None:
    handed = pair.hand_over().last
    assert (handed["event"], handed["poster"]) == ("publish_fund.handed_over", pair.account)
    assert (pair.paid(), balance(pair.ledger, pair.account)) == (0, 0)
    assert "PRIVATE" not in pair.file.read_text()
    checked = pair.sponsor.run("sponsor:fund", "--check", str(pair.file), SERVICE_SPONSOR_PRIVATE_KEY="").last
    assert (checked["event"], checked["escrow_amount"]) == ("sponsor_fund.checked", str(ESCROW))
    created = pair.fund().last
    assert (created["event"], created["poster"]) == ("sponsor_fund.bounty_created", pair.account)
    bounty = pair.ledger.contract.call("getBounty", int(str(created["bounty_id"])))
    assert bounty[0].lower() == pair.account
    assert pair.paid() == ESCROW
    shown = pair.poster.run("poster:publish-fund", str(pair.page)).last
    assert (shown["event"], shown["bounty_id"]) == ("publish_fund.bounty_created", created["bounty_id"])
    assert balance(pair.ledger, pair.account) == 0


def test_file__that_is_sent_again__shows_the_bounty_and_costs_nothing(pair: Pair, rpc: RpcProxy) -> None:
    pair.hand_over()
    first = pair.fund().last
    sent = rpc.sent()
    assert pair.fund().last["bounty_id"] == first["bounty_id"]
    assert pair.fund("--check").last["bounty_id"] == first["bounty_id"]
    assert (rpc.sent(), pair.paid()) == (sent, ESCROW)


def test_poster__who_sends_it_too__is_charged_once(pair: Pair, rpc: RpcProxy) -> None:
    pair.hand_over()
    pair.ledger.node.fund(pair.account)
    done: list[Ran] = []

    def before(method: str, _params: Params) -> dict[str, object] | None:
        if method == "eth_sendRawTransaction" and not done:
            done.append(Ran(0, (), "", ""))
            done[0] = pair.poster.run("poster:publish-fund", str(pair.page))
        return None

    rpc.before = before
    ran = pair.fund()
    assert ran.last["bounty_id"] == done[0].last["bounty_id"]
    assert pair.paid() == ESCROW


def test_hand_over__a_second_time__is_the_same_authorization(pair: Pair, tmp_path: Path) -> None:
    pair.hand_over()
    first = json.loads(pair.file.read_text())
    refused = pair.hand_over(code=1).last
    assert refused["code"] == "file_exists"
    other = tmp_path / "other.json"
    pair.poster.run("poster:publish-fund", "--hand-over", str(other), str(pair.page))
    assert json.loads(other.read_text()) == first


def test_file__of_an_hour_ago__is_refused_with_where_to_get_another(pair: Pair) -> None:
    pair.hand_over()
    pair.ledger.advance_to(pair.ledger.time() + 3_600)
    refused = pair.fund(code=1).last
    assert refused["code"] == "authorization_expired"
    assert "--hand-over" in str(refused["next_action"])
    pair.file.unlink()
    pair.hand_over()  # once the former one is over, by the final block
    assert pair.fund().last["event"] == "sponsor_fund.bounty_created"
    assert pair.paid() == ESCROW


def changed_page(pair: Pair) -> None:
    pair.change(page=pair.page.read_text() + "And a pony.\n")


def changed_escrow(pair: Pair) -> None:
    terms = pair.terms()
    pair.change(terms=[*terms[:2], str(ESCROW // 2), *terms[3:]])


def changed_salt(pair: Pair) -> None:
    pair.change(terms=[*pair.terms()[:7], "0x" + "11" * 32])


def changed_poster(pair: Pair) -> None:
    pair.change(poster_address=pair.ledger.people.poster.address)


def longer(pair: Pair) -> None:
    pair.change(valid_before=str(pair.ledger.time() + 100_000))


def longer_by_a_minute(pair: Pair) -> None:
    value = int(json.loads(pair.file.read_text())["valid_before"])
    pair.change(valid_before=str(value + 60))


def other_hub(pair: Pair) -> None:
    pair.change(hub_address="0x" + "22" * 20)


def other_chain(pair: Pair) -> None:
    pair.change(chain_id=8453)


def other_roster(pair: Pair) -> None:
    terms = pair.terms()
    pair.change(terms=[terms[0], "0x" + "33" * 32, *terms[2:]])


def emptied(pair: Pair) -> None:
    pair.ledger.node.fund(pair.account)
    pair.ledger.token.transact(pair.wallet, "transfer", pair.ledger.people.owner.address, 1)


CHANGES: list[tuple[Callable[[Pair], None], str]] = [
    (changed_page, "hand_over_mismatch"),
    (changed_escrow, "hand_over_mismatch"),
    (changed_salt, "authorization_invalid"),
    (changed_poster, "authorization_invalid"),
    (longer, "hand_over_mismatch"),
    (longer_by_a_minute, "authorization_invalid"),
    (other_hub, "deployment_mismatch"),
    (other_chain, "deployment_mismatch"),
    (other_roster, "terms_outdated"),
    (emptied, "balance_insufficient"),
]


@pytest.mark.attack
@pytest.mark.parametrize(("change", "code"), CHANGES, ids=lambda value: getattr(value, "__name__", ""))
def test_file__that_was_changed_or_cannot_be_used__is_refused_before_anything_is_sent(
    pair: Pair, rpc: RpcProxy, change: Callable[[Pair], None], code: str
) -> None:
    pair.hand_over()
    change(pair)
    for options in (("--check",), ()):
        assert pair.fund(*options, code=1).last["code"] == code
    assert rpc.sent() == 0


@pytest.mark.attack
@pytest.mark.parametrize(
    "data",
    [
        b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"kind": "bounty-escrow-funding", "version": 1}', b"1" * 10_000,
        b'{"kind": "bounty-escrow-funding", "version": true}',
    ],
    ids=range(8),
)  # fmt: skip
def test_file__that_is_none__is_refused(pair: Pair, data: bytes) -> None:
    pair.file.write_bytes(data)
    assert pair.fund(code=1).last["code"] == "hand_over_malformed"


@pytest.mark.attack
@pytest.mark.parametrize(
    "name", ["terms", "valid_before", "signature", "page", "chain_id", "hub_address", "poster_address"]
)
@pytest.mark.parametrize("value", [None, -1, "0x", [], {}, "9" * 5_000, True])
def test_file__with_a_value_of_another_kind__is_refused(pair: Pair, name: str, value: object) -> None:
    pair.hand_over()
    pair.change(**{name: value})
    refused = pair.fund(code=1).last
    codes = {"hand_over_malformed", "hand_over_mismatch", "authorization_invalid", "deployment_mismatch"}
    assert refused["code"] in codes


def test_file__that_is_too_large__is_refused(pair: Pair) -> None:
    pair.file.write_bytes(b" " * (MOST_BYTES + 1))
    assert pair.fund(code=1).last["code"] == "file_too_large"


def test_poster__whose_account_has_code__is_told_to_fund_it_itself(pair: Pair) -> None:
    pair.ledger.node.rpc.call("anvil_setCode", pair.account, "0xef0100" + "11" * 20)
    assert pair.hand_over(code=1).last["code"] == "not_authorizable"
    assert not pair.file.exists()


def test_sponsor__without_ether__is_refused_before_it_is_sent(pair: Pair, rpc: RpcProxy) -> None:
    pair.hand_over()
    poor = Terminal(
        pair.sponsor.home, {**pair.sponsor.environment, "SERVICE_SPONSOR_PRIVATE_KEY": Wallet().private_key}
    )
    assert poor.run("sponsor:fund", str(pair.file), code=1).last["code"] == "gas_insufficient"
    assert rpc.sent() == 0


@pytest.fixture(autouse=True)
def _without_leftovers(ledger: Ledger) -> Iterator[None]:
    yield
    ledger.people.poster.wallet.forget_nonce()
