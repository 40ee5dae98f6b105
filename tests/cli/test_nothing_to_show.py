"""Commands that have nothing to show say so, and those that write look at the directory first."""

import pytest
from service_cli.shell.text import amount, duration, moment
from service_common.types import BountyId

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, as_json
from tests.cli.terminal import Terminal

ADDRESS = "0x" + "ab" * 20
HASH = "0x" + "cd" * 32


class Index:
    """A subgraph endpoint with one roster and what is sealed."""

    def __init__(self, versions: list[int], sealed: list[dict[str, object]]) -> None:
        self.members = [{"version": version} for version in versions]
        self.sealed = sealed

    def __call__(self, request: Request) -> Reply:
        query = str(request.json()["query"])
        if "_meta" in query:
            return as_json({"data": {"_meta": {"block": {"timestamp": 1_000}, "hasIndexingErrors": False}}})
        bounties = self.sealed if "Sealed" in query else []
        return as_json({"data": {"roster_members": self.members, "bounties": bounties}})


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ([], f"{ADDRESS} is not on any roster of this deployment; check the address and the network\n"),
        ([3], "nothing waits for this Guardian now\n"),
        (
            [1, 2],
            "nothing waits for this Guardian now; bounty 8 is sealed until 1970-01-01 00:17:17 UTC (in 37 s)\n",
        ),
    ],
)
def test_judgeable__with_nothing_to_show__says_why(
    api: ApiTwin, guardian: Terminal, versions: list[int], words: str
) -> None:
    sealed: list[dict[str, object]] = [
        {"bounty_id": "7", "roster_version": 1, "reveal_at": 1_100},
        {"bounty_id": "8", "roster_version": 2, "reveal_at": 1_037},
    ]
    api.scripts["subgraph"] = Index(versions, sealed)
    ran = guardian.run("guardian:judgeable", "--guardian-address", ADDRESS)
    assert (ran.events, ran.words) == ((), words)


def test_list__of_nothing__says_so(poster: Terminal) -> None:
    ran = poster.run("bounty:list")
    assert (ran.events, ran.words) == ((), "no bounties match\n")


def test_verification_record__of_an_open_bounty__says_that_it_is_open(ledger: Ledger, poster: Terminal) -> None:
    bounty, _ = ledger.fund()
    ran = poster.run("verification-record", str(bounty))
    assert ran.last["code"] == "bounty_open"
    assert f"no record of bounty {bounty}: it is still open" in ran.words


def test_guardian_open__a_directory_that_holds_something__is_refused_before_a_signature(
    api: ApiTwin, guardian: Terminal
) -> None:
    (guardian.home / "file").write_text("x")
    for target in (".", "file", "file/below"):
        ran = guardian.run("guardian:open", "1", ADDRESS, HASH, target, code=1)
        assert ran.last["code"] == "output_refused"
        assert "must be new or empty" in str(ran.last["message"])
    assert not api.approvals()


def test_open_winning__a_directory_that_holds_something__is_refused_before_a_signature(
    api: ApiTwin, poster: Terminal, ended: int
) -> None:
    view = api.hub.bounty(BountyId(ended))
    assert view is not None
    default = poster.home / "winning-submission" / str(ended) / view.winning_submission
    default.mkdir(parents=True)
    (default / "file").write_text("x")
    for target in ([], ["."]):
        ran = poster.run("poster:open-winning-submission", str(ended), *target, code=1)
        assert ran.last["code"] == "output_refused"
    assert not api.approvals()


@pytest.mark.parametrize("name", ["guardian:open", "poster:open-winning-submission"])
def test_help__of_a_command_that_writes__says_what_the_refusal_says(shell: Terminal, name: str) -> None:
    assert "must be new or empty" in " ".join(shell.run("help", name).stdout.split())


def test_doctor__where_the_chain_check_fails__skips_what_depends_on_it_and_says_what_mends_the_rest(
    poster: Terminal, api: ApiTwin
) -> None:
    broken = Terminal(poster.home, {**poster.environment, "SERVICE_RPC_URL": "http://127.0.0.1:9"})
    ran = broken.run("doctor", "--quiet", "--address", ADDRESS, code=1)
    details = {event["name"]: str(event["detail"]) for event in ran.events if event["event"] == "doctor.check"}
    assert [name for name, detail in details.items() if detail.startswith("skipped")] == ["clock", "roster", "balance"]
    assert "FAIL chain: " in ran.words
    assert "mend: Check SERVICE_RPC_URL" in ran.words
    assert "roster" not in str(ran.last["message"])


class Coin:
    symbol, decimals = "US\x1bDC", 6


def test_words__of_moments_and_amounts__are_exact() -> None:
    assert moment(100, 63) == "1970-01-01 00:01:40 UTC (in 37 s)"
    assert moment(100, 100) == "1970-01-01 00:01:40 UTC (passed)"
    assert moment(2**63, 0) == f"{2**63} seconds after 1970"
    assert [duration(n) for n in (0, 60, 7_500, 90_061)] == ["0 s", "1 min", "2 h 5 min", "1 d 1 h"]
    assert amount(25_000_000, Coin()) == "25000000 base units (25 USDC)"
    assert amount(1, Coin()) == "1 base units (0.000001 USDC)"
