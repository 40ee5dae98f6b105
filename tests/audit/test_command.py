"""``service-audit`` as it is typed: arguments, exit codes, what is printed, and what Prometheus gets."""

import io
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import urllib3
from service_audit import main as main_module
from service_audit.http import Requests
from service_audit.look import AuditOptions, Auditor
from service_audit.main import main, parsed
from service_audit.output import Output, as_text, print_report
from service_audit.report import MAX_FOUND, Report
from service_audit.watch import Stopped

from tests.audit.logs import HUB as LOGGED_HUB
from tests.audit.looks import HISTORY
from tests.audit.node import NODE, HandMadeNode
from tests.waiting import wait_until

HUB = "0x" + "ab" * 20
NOWHERE = "http://127.0.0.1:9/a-key-of-mine"
PROGRAM = str(Path(sys.executable).parent / "service-audit")
WHERE = ("--rpc", NOWHERE, "--hub", HUB)


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (("--hub", HUB), "--rpc and --hub"),
        (("--rpc", NOWHERE), "--rpc and --hub"),
        (("--rpc", NOWHERE, "--hub", "0xab"), "is no address"),
        (("--rpc", "ws://node/a-key-of-mine", "--hub", HUB), "--rpc: no http or https address"),
        ((*WHERE, "--api", "host"), "--api: no http or https address"),
        ((*WHERE, "--metrics-port", "0"), "--metrics-port needs --watch"),
        ((*WHERE, "--watch", "--metrics-port", "65536"), "is no number from 0 to 65535"),
        ((*WHERE, "--watch", "0"), "is no number from 1 to"),
        ((*WHERE, "--bounty", "7", "--watch"), "--bounty looks once"),
        ((*WHERE, "--bounty", "x"), "is no number from 0 to"),
        ((*WHERE, "nonsense"), "nonsense"),
    ],
)
def test_arguments__that_are_wrong__end_with_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], shows: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    refusal = capsys.readouterr().err
    assert shows in refusal
    assert "a-key" not in refusal


def test_endpoint__from_a_file__has_to_be_one_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rpc").write_text(NOWHERE + "\n")
    secret = {"SERVICE_RPC_URL_FILE": str(tmp_path / "rpc"), "SERVICE_HUB_ADDRESS": HUB}
    assert parsed([], secret)[0] == AuditOptions(NOWHERE, HUB)
    for wrong, shows in (
        ({"SERVICE_RPC_URL": NOWHERE}, "both set"),
        ({"SERVICE_RPC_URL_FILE": str(tmp_path / "none")}, "cannot be read"),
    ):
        with pytest.raises(SystemExit):
            parsed([], secret | wrong)
        assert shows in capsys.readouterr().err


def test_help_without_configuration_has_examples(tmp_path: Path) -> None:
    done = subprocess.run([PROGRAM, "--help"], cwd=tmp_path, env={}, capture_output=True, check=True)
    assert b"exit code:" in done.stdout
    assert b"examples:\n  service-audit" in done.stdout


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look is repeated, and signals stay pytest's."""
    monkeypatch.setattr(main_module, "AuditOptions", partial(AuditOptions, hiccup_seconds=-1.0))
    monkeypatch.setattr("service_audit.main.stop_on_signals", lambda: None)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("words", [(), ("--bounty", "7")])
def test_endpoint__that_is_away__ends_with_code_2(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main([*WHERE, *words]) == 2
    printed = capsys.readouterr().out
    events = [json.loads(line) for line in printed.splitlines()]
    assert [each["event"] for each in events] == ["audit.unread", "audit.finished"]
    assert (events[0]["where"], events[1]["exit_code"], "a-key" in printed) == ("the chain", 2, False)


@pytest.mark.usefixtures("hasty")
def test_watch__by_a_mistake_of_its_own__goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks = list[object]()

    def broken(chain: object) -> None:
        looks.append(chain)
        if len(looks) == 3:
            raise Stopped
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr("service_audit.chain.Chain.refresh", broken)
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert main([*WHERE, "--watch"]) == 0
    assert len(looks) == 3
    (event,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (event["event"], event["seen"]) == ("audit.begins", "RuntimeError: what nobody thought of")


@contextmanager
def watch(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A watch of an endpoint that is away."""
    command = [PROGRAM, *WHERE, "--watch", *words]
    with (folder / "printed").open("wb") as printed, (folder / "remarks").open("wb") as remarks:
        process = subprocess.Popen(command, cwd=folder, env={}, stdout=printed, stderr=remarks)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watch__that_is_stopped__ends_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/metrics"

    def is_served() -> bool:
        try:
            return b"audit_differences" in urllib3.request("GET", url, retries=False, timeout=5.0).data
        except urllib3.exceptions.HTTPError:
            return False

    with watch(tmp_path, "--metrics-port", str(port)) as process:
        wait_until(is_served)
        process.send_signal(number)
        assert process.wait(30) == 0
    assert (tmp_path / "remarks").read_text() == ""


@pytest.mark.usefixtures("hasty")
def test_port__that_is_taken__ends_with_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main([*WHERE, "--watch", "--metrics-port", port]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.partition(":")[0]) == ("", "The metrics cannot be at 127.0.0.1")


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("number", "code", "shown"), [("1", 0, "log digest"), ("7", 2, "none with this number")])
def test_one_bounty_is_summed_up_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: str, code: int, shown: str
) -> None:
    requests = Requests(HandMadeNode(HISTORY))
    monkeypatch.setattr(main_module, "Auditor", partial(Auditor, requests=requests))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["--rpc", NODE, "--hub", LOGGED_HUB, "--bounty", number]) == code
    printed = capsys.readouterr().out
    assert printed.startswith("bounty\n") is (code == 0)
    assert shown in printed


def test_report_counts_what_it_does_not_list() -> None:
    report, printed = Report(), io.StringIO()
    for number in range(MAX_FOUND + 2):
        report.add("bounty.facts", f"bounty {number}", 1, 2)
        report.pass_over("bounty.verdict", f"Verdict {number % 3}")
    print_report(Output(printed, True), report, 7)
    *found, unlisted, passed, _ = (json.loads(line) for line in printed.getvalue().splitlines())
    assert (len(found), unlisted["event"], unlisted["count"]) == (MAX_FOUND, "audit.not_listed", 2)
    assert (passed["event"], passed["count"]) == ("audit.not_compared", 3)


def test_event__at_a_terminal__is_text_by_one_rule() -> None:
    fields = {"requirement": "money.split", "where": "bounty 7", "expected": "1", "seen": "2"}
    assert as_text("audit.difference", fields).splitlines() == [
        "difference  money.split  bounty 7", "    expected     1", "    seen         2",
    ]  # fmt: skip
    text = as_text("audit.bounty", {"bounty_id": "7", "winner": None, "amounts": [{"kind": "a\n", "amount": "5"}]})
    assert text.splitlines() == ["bounty", "    bounty id  7", "    amounts    kind a\\u000a, amount 5"]
