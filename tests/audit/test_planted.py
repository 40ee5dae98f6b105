"""The audit against a whole stack: an honest market has no difference, and each planted false fact is found and named.

One look at the real stack is recorded. Each fact alters answers of that record, so that it is of real bytes and of one
moment. Afterwards the stack itself is broken: rows of its database, its indexer, its Hub's money.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import pytest
import urllib3
from demo.bounty import Cast
from local_stack.contract import Wallet
from local_stack.services import SERVICES
from local_stack.stack import DATABASE, StackSettings, running_stack
from service_audit.http import Requests, Transport
from service_audit.look import AuditOptions, Auditor
from service_audit.report import REQUIREMENTS, Report

from tests.audit.market import Market, indexed, played
from tests.audit.planted import PLANTED
from tests.audit.recorded import Recorded
from tests.clocks import HandClock
from tests.waiting import wait_until

PROGRAM: Final = str(Path(sys.executable).parent / "service-audit")
METRICS: Final = 9469


def looked(options: AuditOptions, transport: Transport) -> Report:
    """A look at everything that waits for nothing."""
    clock = HandClock()
    return Auditor(options, Requests(transport, clock.monotonic, clock.sleep)).look_at_everything()


@dataclass(frozen=True, slots=True)
class Audited:
    """A played market, what one look at it asked, and what was answered."""

    market: Market
    options: AuditOptions
    recorded: Recorded
    honest: Report
    before_finality: Recorded
    """The same a little later, while one bounty has just ended."""
    honest_before_finality: Report


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audited]:
    # Without the settler: one bounty is to stay unsettled.
    services = tuple(service for service in SERVICES if service.name != "settler")
    with running_stack(StackSettings(services=services, solvers=3)) as stack:
        market = played(Cast(stack, tmp_path_factory.mktemp("people")))
        options = AuditOptions(
            stack.anvil.url, stack.hub.hub.address, stack.api_base_url, stack.pages_url, max_unsettled_seconds=86_400
        )
        recorded, later = Recorded(), Recorded()
        honest = looked(options, recorded.record)
        with chain_standing_after_a_settlement(market):
            honest_later = looked(options, later.record)
        yield Audited(market, options, recorded, honest, later, honest_later)


@contextmanager
def chain_standing_after_a_settlement(market: Market) -> Iterator[None]:
    """The chain's newest block has the end of a bounty, and none follows that would make it final."""
    cast, hub, anvil = market.cast, market.cast.stack.hub.hub, market.cast.stack.anvil
    stranger = Wallet()
    anvil.fund(stranger.address)
    with cast.stack.anvil.no_blocks():
        hub.send(stranger, "settle", int(market.stuck.bounty_id))
        anvil.mine()
        head = anvil.w3.eth.block_number
        wait_until(lambda: indexed(cast, head), 60)
        yield
        assert anvil.w3.eth.block_number == head


def test_market__of_every_ending__has_no_difference(audited: Audited) -> None:
    assert audited.honest.found == []
    assert audited.honest.exit_code() == 0
    not_shown = {name: len(places) for name, places in audited.honest.passed_over.items()}
    assert not_shown == {"bounty.verdict": 1}, "the document that nobody ever sees"
    assert set(audited.honest.compared) == set(REQUIREMENTS) - {"read"}, "each requirement was compared"


def test_record__replayed_unaltered__has_no_difference(audited: Audited) -> None:
    assert audited.honest_before_finality.found == []
    for recorded in (audited.recorded, audited.before_finality):
        assert looked(audited.options, recorded.replaying(lambda _, answer: answer)).found == []


@pytest.mark.parametrize("fact", PLANTED)
def test_planted_fact__is_found_and_named(audited: Audited, fact: str) -> None:
    requirement, alter = PLANTED[fact]
    found = looked(audited.options, audited.recorded.replaying(alter)).found
    assert requirement in {each.requirement for each in found}


def test_bounty__that_nobody_settled__is_found(audited: Audited) -> None:
    options = AuditOptions(audited.options.rpc_url, audited.options.hub, max_unsettled_seconds=0)
    (found,) = looked(options, audited.recorded.replaying(lambda _, answer: answer)).found
    assert (found.requirement, found.where) == ("liveness.settled", f"bounty {audited.market.stuck.bounty_id}")


def typed(audited: Audited, *words: str) -> tuple[int, dict[str, str]]:
    """The command as anybody types it: its exit code, and a requirement's first place."""
    options = audited.options
    addresses = ("--rpc", options.rpc_url, "--hub", options.hub, "--api", str(options.api_url))
    patient = ("--max-unsettled-seconds", "86400")  # for the one that nobody settles
    done = subprocess.run([PROGRAM, *addresses, *patient, *words], capture_output=True, text=True, check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["exit_code"] == done.returncode, done.stderr
    found = [each for each in events if each["event"] == "audit.difference"]
    return done.returncode, {each["requirement"]: each["where"] for each in reversed(found)}


def test_bounty_of_every_ending_has_no_difference(audited: Audited) -> None:
    market = audited.market
    for bounty in (market.awarded, market.refunded, market.empty, market.silent, market.split, market.open):
        assert typed(audited, "--bounty", bounty.bounty_id) == (0, {})


@contextmanager
def watching(options: AuditOptions, folder: Path) -> Iterator[None]:
    """The watch as anybody runs it, outside of the repository. It prints into a file."""
    limits = ("--max-unsettled-seconds", "86400", "--max-lag-seconds", "8")
    words = ("--hub", options.hub, "--api", str(options.api_url), *limits, "--watch", "1")
    environment = {"SERVICE_RPC_URL": options.rpc_url, "HOME": str(folder)}
    command = [PROGRAM, *words, "--metrics-port", str(METRICS)]
    with (folder / "printed").open("wb") as printed:
        watch = subprocess.Popen(command, cwd=folder, env=environment, stdout=printed)
        try:
            yield
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(60) == 0
        finally:
            watch.kill()
            watch.wait()


def counted(requirement: str) -> float:
    """What Prometheus gets of a requirement; -1 before the first look has ended."""
    try:
        answer = urllib3.request("GET", f"http://127.0.0.1:{METRICS}/metrics", timeout=10.0, retries=False)
    except urllib3.exceptions.HTTPError:  # it does not listen yet
        return -1.0
    lines = [line for line in answer.data.decode().splitlines() if f'"{requirement}"' in line]
    return float(lines[0].split()[-1]) if lines else -1.0


def test_watch_finds_a_payout_a_document_and_a_halt(audited: Audited, tmp_path: Path) -> None:
    stack, market = audited.market.cast.stack, audited.market
    printed = tmp_path / "printed"

    def prints(event: str, requirement: str) -> None:
        def is_printed() -> bool:
            lines = [json.loads(line) for line in printed.read_text().splitlines()]
            return any((line["event"], line["requirement"]) == (event, requirement) for line in lines)

        wait_until(is_printed, 240)

    url = stack.postgres.url(DATABASE)
    with watching(audited.options, tmp_path), psycopg.connect(url, autocommit=True) as connection:
        wait_until(lambda: counted("graphql.rows") == 0, 240)
        assert printed.read_text() == "", "nothing differs"

        paid = "UPDATE hub_index.claims SET amount = amount + %s WHERE bounty_id = %s AND kind = 'winner_award'"
        assert connection.execute(paid, [1, int(market.awarded.bounty_id)]).rowcount == 1
        prints("audit.begins", "graphql.rows")
        wait_until(lambda: counted("graphql.rows") > 0, 240)
        connection.execute(paid, [-1, int(market.awarded.bounty_id)])
        prints("audit.over", "graphql.rows")

        kept = "DELETE FROM app.written_verdicts WHERE bounty_id = %s RETURNING *"
        rows = connection.execute(kept, [int(market.awarded.bounty_id)]).fetchall()
        assert rows
        prints("audit.begins", "bounty.verdict")
        for row in rows:
            places = ", ".join(["%s"] * len(row))
            connection.execute(f"INSERT INTO app.written_verdicts VALUES ({places})", row)
        prints("audit.over", "bounty.verdict")

        with connection.transaction():  # readers go on, the indexer waits
            tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'hub_index'").fetchall()
            names = ", ".join(f"hub_index.{name}" for (name,) in tables)
            connection.execute(f"LOCK TABLE {names} IN EXCLUSIVE MODE")
            prints("audit.begins", "liveness.index")
        prints("audit.over", "liveness.index")
        wait_until(lambda: counted("liveness.index") == 0, 240)


def test_tokens_that_leave_without_a_claim_are_found(audited: Audited) -> None:
    stack, market = audited.market.cast.stack, audited.market
    assert typed(audited) == (0, {})
    anvil, hub, token = stack.anvil, stack.hub.hub, stack.hub.token
    anvil.rpc.call("anvil_impersonateAccount", hub.address)
    anvil.fund(hub.address)
    data = "0x" + token.encode("transfer", "0x" + "ab" * 20, 7).hex()
    anvil.rpc.call("eth_sendTransaction", {"from": hub.address, "to": token.address, "data": data})
    market.cast.wait_for(market.cast.chain_time() + 5)
    code, found = typed(audited)
    assert (code, {"money.transfers", "money.conservation"} <= set(found)) == (1, True)
