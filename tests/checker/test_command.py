"""``service-audit --watch`` as it is typed: arguments, exit codes, what is printed, and what Prometheus gets."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import urllib3
from service_checker import metrics_server, watching
from service_checker.__main__ import main
from service_checker.chain import Chain
from service_checker.metrics_server import MetricsServer
from service_checker.report import FoundDifference

from tests.waiting import wait_until

HUB = "0x" + "ab" * 20
NOWHERE = "http://127.0.0.1:9/a-key-of-mine"
PROGRAM = str(Path(sys.executable).parent / "service-audit")


def run(folder: Path, *words: str, **variables: str) -> tuple[int, str, str]:
    """Its exit code, and what it prints and remarks, in an environment that has nothing else."""
    environment = {"HOME": str(folder), **variables}
    done = subprocess.run(
        [PROGRAM, "--watch", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("words", "shows"),
    [
        (("--hub", HUB), "--rpc and --hub"),
        (("--rpc", NOWHERE), "--rpc and --hub"),
        (("--rpc", NOWHERE, "--hub", "0xab"), "is no address"),
        (("--rpc", "ws://node/a-key-of-mine", "--hub", HUB), "--rpc: no http or https address"),
        (("--rpc", NOWHERE, "--hub", HUB, "--api", "host"), "--api: no http or https address"),
        (("--rpc", NOWHERE, "--hub", HUB, "--once", "--metrics-port", "0"), "--metrics-port needs --watch"),
        (("--rpc", NOWHERE, "--hub", HUB, "--sample", "0"), "nor all"),
        (("--rpc", NOWHERE, "--hub", HUB, "--metrics-port", "65536"), "is no port"),
        (("--rpc", NOWHERE, "--hub", HUB, "--search", "x"), "--search needs --canaries"),
        (("--rpc", NOWHERE, "--hub", HUB, "nonsense"), "nonsense"),
    ],
)
def test_arguments__that_are_wrong__end_with_code_2(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], shows: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--watch", *words], "service-audit --watch")
    assert ended.value.code == 2
    refusal = capsys.readouterr().err
    assert shows in refusal
    assert "a-key" not in refusal


def test_help__without_anything_configured__has_examples_and_exit_codes(tmp_path: Path) -> None:
    for program in ([PROGRAM], [str(Path(PROGRAM).parent / "service-cli"), "audit"]):
        command = [*program, "--watch", "--help"]
        done = subprocess.run(command, cwd=tmp_path, env={"HOME": str(tmp_path)}, capture_output=True, check=True)
        assert done.stdout.decode().startswith(f"usage: {Path(program[0]).name}")
        assert b"exit code:" in done.stdout
        assert b"examples:\n  service-audit --watch" in done.stdout


def test_check__of_an_endpoint_that_is_away__ends_with_code_2(tmp_path: Path) -> None:
    (tmp_path / "rpc").write_text(NOWHERE + "\n")
    secret = {"SERVICE_RPC_URL_FILE": str(tmp_path / "rpc"), "SERVICE_HUB_ADDRESS": HUB}
    code, printed, _ = run(tmp_path, "--once", "--json", **secret)
    assert code == 2
    (found,) = json.loads(printed)["differences"]
    assert (found["requirement"], "a-key" in printed) == ("checked", False)
    code, _, refusal = run(tmp_path, "--once", SERVICE_RPC_URL=NOWHERE, **secret)
    assert (code, "both set" in refusal) == (2, True)
    code, _, refusal = run(tmp_path, "--once", SERVICE_HUB_ADDRESS=HUB, SERVICE_RPC_URL_FILE=str(tmp_path / "none"))
    assert (code, "cannot be read" in refusal) == (2, True)


@contextmanager
def watch(folder: Path, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A watch of an endpoint that is away."""
    command = [PROGRAM, "--watch", "--rpc", NOWHERE, "--hub", HUB, *words]
    with (folder / "printed").open("wb") as printed, (folder / "remarks").open("wb") as remarks:
        process = subprocess.Popen(
            command, cwd=folder, env={"HOME": str(folder)}, stdout=printed, stderr=remarks
        )  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watch__that_is_stopped__ends_with_code_0(tmp_path: Path, number: signal.Signals) -> None:
    with watch(tmp_path, "--json", "--metrics", "checker.prom") as process:
        wait_until((tmp_path / "checker.prom").exists)
        process.send_signal(number)
        assert process.wait(30) == 0
    (line,) = (tmp_path / "printed").read_text().splitlines()
    event = json.loads(line)
    assert (event["event"], event["requirement"], event["where"]) == ("begins", "checked", "the chain")
    assert "Traceback" not in (tmp_path / "remarks").read_text()


def test_watch__whose_metrics_cannot_be_written__goes_on(tmp_path: Path) -> None:
    with watch(tmp_path, "--watch", "1", "--metrics", "nowhere/checker.prom") as process:
        wait_until(lambda: (tmp_path / "remarks").read_text().count("was not written") >= 2)
        assert process.poll() is None


def test_check__by_a_mistake_of_its_own__is_no_difference(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr(Chain, "refresh", broken)
    monkeypatch.setattr("service_checker.__main__.stop_on_signals", lambda: None)
    assert main(["--once", "--rpc", NOWHERE, "--hub", HUB]) == 2
    assert "checked  the chain: expected an end of its comparison, seen RuntimeError" in capsys.readouterr().out


def test_check__whose_metrics_cannot_be_written__prints_what_it_found(tmp_path: Path) -> None:
    code, printed, remarks = run(tmp_path, "--once", "--rpc", NOWHERE, "--hub", HUB, "--metrics", "nowhere/file")
    assert (code, "checked  the chain" in printed, "was not written" in remarks) == (2, True, True)


def test_watch__by_a_mistake_of_its_own__goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    checks = list[object]()

    def broken(chain: object) -> None:
        checks.append(chain)
        if len(checks) == 3:
            raise watching.Stopped
        raise RuntimeError("what nobody thought of")

    monkeypatch.setattr(Chain, "refresh", broken)
    monkeypatch.setattr("service_checker.__main__.stop_on_signals", lambda: None)
    monkeypatch.setattr("time.sleep", lambda _: None)
    file = tmp_path / "checker.prom"
    assert main(["--watch", "--rpc", NOWHERE, "--hub", HUB, "--metrics", str(file)]) == 0
    assert len(checks) == 3
    assert 'checker_differences{requirement="checked"} 1\n' in file.read_text()


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    made = MetricsServer("127.0.0.1", 0)
    yield made
    made.close()


def get(url: str) -> tuple[int, str]:
    answer = urllib3.request("GET", url, timeout=20.0, retries=False)
    return answer.status, answer.data.decode()


def has_version_6() -> bool:
    """Whether this machine has the address ``::1``."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("address", ["127.0.0.1", *(["::1"] if has_version_6() else [])])
def test_metrics__by_http__are_those_of_the_last_check(address: str) -> None:
    server = MetricsServer(address, 0)
    assert get(server.url)[0] == 503, "no check has ended"
    server.text = "checker_comparisons 7\n"
    assert get(server.url) == (200, "checker_comparisons 7\n")
    assert get(server.url.removesuffix("metrics"))[0] == 404
    server.close()
    again = MetricsServer(*server.address)
    again.close()


@contextmanager
def connections(server: MetricsServer, count: int) -> Iterator[list[socket.socket]]:
    """So many connections, which have sent half a request."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_connection(server.address, 60.0)) for _ in range(count)]
        for each in found:
            each.sendall(b"GET /metrics")
        yield found


@pytest.mark.attack
def test_metrics__while_others_send_no_request__are_served(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_server, "SCRAPE_SECONDS", 100_000.0)  # no silent one is given up
    server.text = "checker_comparisons 7\n"
    with connections(server, metrics_server.MAX_SCRAPES // 2) as silent:
        assert get(server.url)[0] == 200
        silent[0].sendall(b" HTTP/1.1\r\n\r\n")
        assert silent[0].recv(1_000).startswith(b"HTTP/1.1 200 OK"), "none of them was ended"


@pytest.mark.attack
def test_metrics__while_very_many_send_no_request__are_served(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics_server, "SCRAPE_SECONDS", 100_000.0)
    server.text = "checker_comparisons 7\n"
    with connections(server, 2 * metrics_server.MAX_SCRAPES) as silent:
        assert get(server.url)[0] == 200
        with suppress(ConnectionResetError):
            assert silent[0].recv(1) == b"", "the oldest was ended"
        assert len(server._scrapes) <= metrics_server.MAX_SCRAPES


@pytest.mark.attack
def test_scrape__that_never_ends__is_given_up(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_server, "SCRAPE_SECONDS", 0.05)
    with connections(server, 1) as (silent,), suppress(ConnectionResetError):
        assert silent.recv(1) == b""


@pytest.mark.attack
def test_request__that_is_too_long__gets_its_answer(server: MetricsServer) -> None:
    with socket.create_connection(server.address, 60.0) as long:
        long.sendall(b"GET /metrics HTTP/1.1\r\n".ljust(1 << 20, b"a"))
        long.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: long.recv(1_000), b""))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.endswith(b"too long.\n")


def test_port__that_is_taken__ends_with_code_2(server: MetricsServer, tmp_path: Path) -> None:
    port = str(server.address[1])
    words = ("--rpc", NOWHERE, "--hub", HUB, "--metrics-port", port)
    code, _, refusal = run(tmp_path, *words)
    assert code == 2
    assert refusal.startswith(f"The metrics cannot be at 127.0.0.1:{port}")


def test_line__of_an_event__is_the_same_for_people_and_programs() -> None:
    found = FoundDifference("money.split", "bounty 7", "1", "2")
    begins, over = (watching.WatchEvent(event, found) for event in ("begins", "over"))
    assert list(watching.lines_of([begins])) == ["begins  money.split  bounty 7: expected 1, seen 2"]
    assert list(watching.lines_of([over])) == ["over    money.split  bounty 7"]
    value: dict[str, Any] = json.loads(over.as_json(1_700_000_000.9))
    assert (value["event"], value["time"], value["where"]) == ("over", 1_700_000_000, "bounty 7")
