"""The checker against a whole stack: nothing differs.

One check of the real stack is recorded. Each fault alters answers of that record, so that it is of real bytes and of
one moment. Afterwards the stack itself is broken: rows of its database, its logs, its indexer, its Hub's money.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psycopg
import pytest
import urllib3
from demo.bounty import Cast
from local_stack.contract import Wallet
from local_stack.services import SERVICES
from local_stack.stack import DATABASE, StackSettings, running_stack
from service_checker.report import REQUIREMENTS, CheckReport
from service_checker.run import CheckOptions, check

from tests.checker.market import NOTE, Market, indexed, played
from tests.checker.recorded import Recorded
from tests.waiting import wait_until

TOP: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Checked:
    """A played market, what one check of it asked, and what was answered."""

    market: Market
    asked: CheckOptions
    recorded: Recorded
    findings: CheckReport
    before_finality: Recorded
    """The same a little later, while one bounty has just ended."""
    findings_before_finality: CheckReport


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checked]:
    # Without the settler: one bounty is to stay unsettled.
    services = tuple(service for service in SERVICES if service.name != "settler")
    with running_stack(StackSettings(services=services, solvers=3)) as stack:
        market = played(Cast(stack, tmp_path_factory.mktemp("people")))
        asked = CheckOptions(
            rpc_url=stack.anvil.url,
            hub=stack.hub.hub.address,
            api_url=stack.api_base_url,
            pages_url=stack.pages_url,
            every_block=True,
            searched=places(market),
            canaries=market.canaries(),
        )
        recorded = Recorded()
        findings = check(replace(asked, exchange=recorded.record))
        asked = replace(asked, searched=())
        later = Recorded()
        with chain_standing_after_a_settlement(market):
            findings_later = check(replace(asked, exchange=later.record))
        yield Checked(market, asked, recorded, findings, later, findings_later)


@contextmanager
def chain_standing_after_a_settlement(market: Market) -> Iterator[None]:
    """The chain's newest block has the end of a bounty, and none follows that would make it final."""
    cast, hub, anvil = market.cast, market.cast.stack.hub.hub, market.cast.stack.anvil
    stranger = Wallet()
    anvil.fund(stranger.address)
    with cast.stack.no_blocks():
        hub.send(stranger, "settle", int(market.stuck.bounty_id))
        anvil.mine()
        head = anvil.w3.eth.block_number
        wait_until(lambda: indexed(cast, head), 60)
        yield
        assert anvil.w3.eth.block_number == head


def places(market: Market) -> list[Path]:
    """Where the stack writes: logs, the files of database, queue, store and node, and what services keep."""
    below = market.cast.stack.runtime.logs.parent
    return [below / name for name in ("logs", "postgres", "valkey", "gcs-twin", "anvil", "services")]


def test_stack__with_bounties_of_every_ending__has_no_difference(checked: Checked) -> None:
    assert checked.findings.found == []
    assert checked.findings.exit_code() == 0
    not_shown = {name: len(places) for name, places in checked.findings.skipped.items()}
    assert not_shown == {"bounty.verdict": 1}, "the document that nobody ever sees"
    assert set(checked.findings.compared) == set(REQUIREMENTS) - {"checked"}, "each requirement was compared"


def test_record__replayed_unaltered__has_no_difference(checked: Checked) -> None:
    assert checked.findings_before_finality.found == []
    for recorded in (checked.recorded, checked.before_finality):
        findings = check(replace(checked.asked, exchange=recorded.replaying(lambda _, answer: answer)))
        assert findings.found == []


def test_bounty__that_nobody_settled__is_found(checked: Checked) -> None:
    exchange = checked.recorded.replaying(lambda _, answer: answer)
    findings = check(replace(checked.asked, exchange=exchange, api_url=None, max_unsettled_seconds=0))
    (found,) = findings.found
    assert (found.requirement, found.where) == ("liveness.settled", f"bounty {checked.market.stuck.bounty_id}")


def typed(checked: Checked, *words: str) -> tuple[int, dict[str, str]]:
    """The command as an auditor types it: its exit code, and a requirement's first place."""
    asked = checked.asked
    addresses = ("--rpc", asked.rpc_url, "--hub", asked.hub, "--api", str(asked.api_url), "--json")
    patient = ("--max-unsettled-seconds", "86400")  # for the one that nobody settles
    done = subprocess.run(
        [sys.executable, "-m", "service_checker", *addresses, *patient, *words],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert report["exit_code"] == done.returncode, done.stderr
    return done.returncode, {found["requirement"]: found["where"] for found in reversed(report["differences"])}


@contextmanager
def watching(asked: CheckOptions, folder: Path) -> Iterator[str]:
    """The watch as anybody runs it, outside of the repository; its metrics' address. It prints into two files."""
    limits = ("--max-unsettled-seconds", "86400", "--max-lag-seconds", "8", "--sample", "3")
    words = ("--hub", asked.hub, "--api", str(asked.api_url), *limits, "--watch", "1", "--metrics-port", "0")
    environment = {"SERVICE_RPC_URL": asked.rpc_url, "HOME": str(folder)}
    program = str(Path(sys.executable).parent / "service-audit")
    with (folder / "printed").open("wb") as printed, (folder / "remarks").open("wb") as remarks:
        watch = subprocess.Popen([program, *words], cwd=folder, env=environment, stdout=printed, stderr=remarks)
        try:
            wait_until(lambda: "\n" in (folder / "remarks").read_text(), 60)
            yield (folder / "remarks").read_text().split()[2]
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(60) == 0
        finally:
            watch.kill()


def scraped(url: str) -> str:
    """What Prometheus gets; nothing before the first check has ended."""
    answer = urllib3.request("GET", url, timeout=10.0, retries=False)
    return answer.data.decode() if answer.status == 200 else ""


def test_watchtower__finds_a_wrong_payout_a_withheld_answer_and_a_stale_index(checked: Checked, tmp_path: Path) -> None:
    stack, market = checked.market.cast.stack, checked.market
    printed = tmp_path / "printed"

    def prints(*words: str) -> None:
        wait_until(lambda: any(line.split()[:2] == list(words) for line in printed.read_text().splitlines()), 240)

    url = stack.postgres.url(DATABASE)
    with watching(checked.asked, tmp_path) as metrics, psycopg.connect(url, autocommit=True) as connection:

        def counts(requirement: str) -> int:
            (line,) = [line for line in scraped(metrics).splitlines() if f'"{requirement}"' in line]
            return int(line.split()[-1])

        wait_until(lambda: scraped(metrics) != "", 240)
        assert printed.read_text() == "", "nothing differs"

        paid = "UPDATE hub_index.claims SET amount = amount + %s WHERE bounty_id = %s AND kind = 'winner_award'"
        assert connection.execute(paid, [1, int(market.awarded.bounty_id)]).rowcount == 1
        prints("begins", "graphql.rows")
        wait_until(lambda: counts("graphql.rows") > 0, 240)
        connection.execute(paid, [-1, int(market.awarded.bounty_id)])
        prints("over", "graphql.rows")

        kept = "DELETE FROM app.written_verdicts WHERE bounty_id = %s RETURNING *"
        rows = connection.execute(kept, [int(market.awarded.bounty_id)]).fetchall()
        assert rows
        prints("begins", "bounty.verdict")
        for row in rows:
            places = ", ".join(["%s"] * len(row))
            connection.execute(f"INSERT INTO app.written_verdicts VALUES ({places})", row)
        prints("over", "bounty.verdict")

        with connection.transaction():  # readers go on, the indexer waits
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'hub_index'").fetchall()
            connection.execute(
                "LOCK TABLE " + ", ".join(f"hub_index.{name}" for (name,) in tables) + " IN EXCLUSIVE MODE"
            )
            prints("begins", "liveness.index")
        prints("over", "liveness.index")
        wait_until(lambda: counts("liveness.index") == 0, 240)


def test_stack__broken_for_real__is_found_out(checked: Checked, tmp_path: Path) -> None:
    stack, market = checked.market.cast.stack, checked.market
    assert typed(checked) == (0, {})

    # A secret in a log.
    canaries = tmp_path / "canaries"
    canaries.write_bytes(b"\n".join(market.canaries()))
    log = next(path for path in stack.runtime.logs.rglob("*") if path.is_file() and path.name.startswith("api"))
    with log.open("a") as file:
        file.write(f'{{"event": "opened", "content": "{NOTE}"}}\n')
    words = ("--canaries", str(canaries), "--search", str(stack.runtime.logs))
    assert typed(checked, *words) == (1, {"privacy.canary": str(log)})

    # A row of the index that somebody changed in the database.
    with psycopg.connect(stack.postgres.url(DATABASE), autocommit=True) as connection:
        number = int(market.awarded.bounty_id)
        changed = "UPDATE hub_index.claims SET amount = amount + 1 WHERE bounty_id = %s AND kind = 'winner_award'"
        assert connection.execute(changed, [number]).rowcount == 1
        code, found = typed(checked)
        assert (code, found["graphql.rows"].startswith("/subgraph claims")) == (1, True)
        connection.execute(changed.replace("+", "-"), [number])
    assert typed(checked)[0] == 0

    # Tokens that leave the Hub without a claim.
    anvil, hub, token = stack.anvil, stack.hub.hub, stack.hub.token
    anvil.rpc.call("anvil_impersonateAccount", hub.address)
    anvil.fund(hub.address)
    stolen = {
        "from": hub.address,
        "to": token.address,
        "data": "0x" + token.encode("transfer", "0x" + "ab" * 20, 7).hex(),
    }
    anvil.rpc.call("eth_sendTransaction", stolen)
    market.cast.wait_for(market.cast.chain_time() + 5)
    code, found = typed(checked)
    assert (code, {"money.transfers", "money.conservation"} <= set(found)) == (1, True)

    # An index that stands still.
    stack.services["indexer-worker"].kill()
    stopped = anvil.w3.eth.block_number
    wait_until(lambda: anvil.w3.eth.block_number > stopped + 40)
    code, found = typed(checked, "--max-lag-seconds", "5")
    assert (code, "liveness.index" in found) == (1, True)
