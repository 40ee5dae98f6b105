"""The page's server by raw HTTP: what a stranger, another page and a hurried wallet get, and that it ends."""

import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from urllib.parse import unquote, urlsplit

import pytest
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import OutputSink, redirected
from service_cli.wallet_page import server
from service_cli.wallet_page.entrance import shows_code
from service_cli.wallet_page.server import (
    MAX_BODY,
    MAX_CONNECTIONS,
    MAX_WRONG_CODES,
    WalletPage,
    WalletTask,
    open_browser,
)

TASK = WalletTask("0x" + "ab" * 20, 31337, "Sign: it", [("Hub", "0x")], "Sign", "eth_signTypedData_v4", [{"a": 1}])
LINGERING = 5
"""Seconds that a test waits for what is immediate."""


@dataclass
class Asked:
    """A page that is open, what its command was answered, and a client of it."""

    page: WalletPage
    address: str
    """With the code behind a #, as the private file has it."""
    outcome: "Queue[str | CommandFailed]"

    @property
    def host(self) -> str:
        return self.address.split("/")[2]

    @property
    def code(self) -> str:
        return self.address.partition("#")[2]

    @property
    def path(self) -> str:
        return "/"

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str, dict[str, str]]:
        """Status, text and headers of one answer; header names with _ for -."""
        with closing(HTTPConnection(self.host, timeout=LINGERING)) as connection:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in {"Host": self.host, "Content-Length": str(len(body)), **sent}.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), dict(answer.headers)

    def open(self) -> str:
        """Open the page and enter it; the path of its session."""
        status, _, _ = self.request("GET", self.path)
        assert status == 200
        status, text = self.enter(self.code)
        assert status == 200, text
        return f"/{json.loads(text)['session']}"

    def enter(self, code: object) -> tuple[int, str]:
        return self.post("/enter", {"code": code})

    def post(self, path: str, value: object, **headers: str) -> tuple[int, str]:
        """As the page does it, but for ``headers``."""
        own = {"Origin": f"http://{self.host}", "Content_Type": "application/json", **headers}
        return self.request("POST", path, json.dumps(value).encode(), **own)[:2]


def address_in(file: str) -> str:
    """Where a private file leads."""
    found = re.search(
        r'href="(http://127\.0\.0\.1:\d+/#[0-9A-Z]{4}-[0-9A-Z]{4})"', Path(unquote(urlsplit(file).path)).read_text()
    )
    assert found is not None
    return found[1]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    addresses: Queue[str] = Queue()
    outcome: Queue[str | CommandFailed] = Queue()
    monkeypatch.setattr(server, "open_browser", lambda file, _environment: addresses.put(address_in(file)))
    monkeypatch.setattr(server, "POLL_SECONDS", 0.05)
    with WalletPage({}) as page:

        def ask() -> None:
            try:
                outcome.put(page.ask(TASK))
            except CommandFailed as failed:
                outcome.put(failed)

        Thread(target=ask, daemon=True).start()
        yield Asked(page, addresses.get(timeout=LINGERING), outcome)
        monkeypatch.setattr(server, "FAREWELL_SECONDS", 0.0)


def test_page__opened_once__shows_the_task_and_takes_its_answer(asked: Asked) -> None:
    session = asked.open()
    status, text = asked.post(f"{session}/next", {"seen": 0})
    assert status == 200
    task = json.loads(text)["task"]
    assert task == {**TASK.to_json(1)}
    assert json.loads(asked.post(f"{session}/next", {"seen": 1})[1]) == {}
    assert asked.post(f"{session}/answer", {"number": 1, "result": "0x12"}) == (200, "{}")
    assert asked.outcome.get(timeout=LINGERING) == "0x12"
    assert asked.post(f"{session}/answer", {"number": 1, "result": "0x13"})[0] == 409


def test_page__its_headers__allow_its_own_script_and_nothing_else(asked: Asked) -> None:
    _, html, headers = asked.request("GET", asked.path)
    policy = headers["Content-Security-Policy"]
    (nonce,) = set(re.findall(r'nonce="([^"]+)"', html))
    assert policy == (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert (headers["X-Frame-Options"], headers["Cache-Control"]) == ("DENY", "no-store")
    assert not re.search(r"https?://", html.partition("<body")[2])
    assert "{{" not in html


def test_page__asked_for_again__is_refused_with_a_sentence(asked: Asked) -> None:
    asked.open()
    status, text, _ = asked.request("GET", asked.path)
    assert (status, "opens only once" in text) == (410, True)


@pytest.mark.attack
def test_page__opened_first_by_another_user__shows_nothing_and_is_reported_to_the_owner(
    asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        status, html, _ = asked.request("GET", "/")
        assert status == 200
    assert TASK.title not in html
    assert not re.search(r"[\w-]{32}", re.sub(r'nonce="[^"]*"', "", html.partition("<script")[0]))
    guesses = ["", "0000-0000", asked.code[:-1], asked.code + "0", None, 7, ["a"], {"code": asked.code}]
    assert {asked.enter(guess)[0] for guess in guesses} == {403}
    session = asked.open()  # nothing was used up
    assert asked.enter(asked.code)[0] == 403
    assert asked.post(f"{session}/answer", {"number": 1, "result": "0x12"})[0] == 200
    assert asked.outcome.get(timeout=LINGERING) == "0x12"
    reported = capsys.readouterr().err
    assert "opened a second time" in reported
    assert "wrong code" in reported
    assert asked.code not in reported
    assert len(reported.splitlines()) <= 7


def test_code__as_a_person_types_it__is_taken(asked: Asked) -> None:
    typed = asked.code.lower().replace("-", " ").replace("1", "l").replace("0", "o")
    assert asked.enter(f" {typed} ")[0] == 200


@pytest.mark.attack
def test_code__guessed_too_often__ends_the_command_and_is_not_taken_any_more(asked: Asked) -> None:
    for number in range(MAX_WRONG_CODES):
        assert asked.enter(f"0000-{number:04}")[0] == 403
    assert asked.enter(asked.code)[0] == 403
    failed = asked.outcome.get(timeout=LINGERING)
    assert isinstance(failed, CommandFailed)
    assert failed.code == "page_guessed"


@pytest.mark.attack
@pytest.mark.parametrize("has_home", [True, False])
def test_browser__without_a_terminal__is_given_a_file_that_only_its_owner_reads_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], has_home: bool
) -> None:
    opened: Queue[str] = Queue()
    monkeypatch.setattr(server, "open_browser", lambda address, _environment: opened.put(address))
    monkeypatch.setattr(server, "ASK_SECONDS", 0.01)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    old = tmp_path / "service-cli-wallet-old"
    old.mkdir()
    os.utime(old, (0, 0))
    with WalletPage({"HOME": str(tmp_path)} if has_home else {}) as page:
        with pytest.raises(CommandFailed):
            page.ask(TASK)
        address = opened.get(timeout=LINGERING)
        file = Path(unquote(urlsplit(address).path))
        assert (address.partition(":")[0], file.parent.parent) == ("file", tmp_path)
        assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
        assert not any(part.startswith(".") for part in file.relative_to(tmp_path).parts)
        code = address_in(address).partition("#")[2]
    assert list(tmp_path.iterdir()) == []
    shown = capsys.readouterr()
    assert str(file) in shown.err
    assert code not in shown.err + shown.out + address


@pytest.mark.attack
def test_browser__at_a_terminal__is_given_an_address_without_a_secret_and_the_code_is_shown_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: Queue[str] = Queue()
    monkeypatch.setattr(server, "open_browser", lambda address, _environment: opened.put(address))
    monkeypatch.setattr(server, "ASK_SECONDS", 0.01)
    monkeypatch.setattr(server, "shows_code", lambda: True)
    with WalletPage({}) as page, pytest.raises(CommandFailed):
        page.ask(TASK)
    address = opened.get(timeout=LINGERING)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    assert re.search(
        rf"open {address} in .* type this code there: [0-9A-Z]{{4}}-[0-9A-Z]{{4}}$", capsys.readouterr().err.strip()
    )


def test_code__for_a_program_that_calls_the_client__is_not_among_what_it_gets(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Screen())
    assert shows_code()
    with redirected(OutputSink(lambda _event: None, lambda _text: None)):
        assert not shows_code()


STRANGERS: list[tuple[str, Callable[[Asked], tuple[str, str, dict[str, str]]], int]] = [
    ("former address", lambda _: ("GET", "/" + "a" * 32, {}), 404),
    ("the code as a path", lambda asked: ("GET", f"/{asked.code}", {}), 404),
    ("query", lambda asked: ("GET", asked.path + "?a", {}), 404),
    ("name that points here", lambda asked: ("GET", asked.path, {"Host": "attacker.example"}), 421),
    ("localhost", lambda asked: ("GET", asked.path, {"Host": asked.host.replace("127.0.0.1", "localhost")}), 421),
    ("no host", lambda asked: ("GET", asked.path, {"Host": ""}), 421),
    ("same site", lambda asked: ("GET", asked.path, {"Sec_Fetch_Site": "same-site"}), 403),
    ("prefetch", lambda asked: ("GET", asked.path, {"Sec_Purpose": "prefetch;prerender"}), 503),
    ("other method", lambda asked: ("PUT", asked.path, {}), 501),
]


@pytest.mark.parametrize(("make", "status"), [each[1:] for each in STRANGERS], ids=[each[0] for each in STRANGERS])
def test_get__by_a_stranger__is_refused_and_uses_nothing_up(
    asked: Asked, make: Callable[[Asked], tuple[str, str, dict[str, str]]], status: int
) -> None:
    method, path, headers = make(asked)
    found, text, _ = asked.request(method, path, b"", **headers)
    assert found == status
    assert text
    assert asked.open()


def test_post__by_another_page_or_program__is_refused_and_answers_nothing(asked: Asked) -> None:
    session = asked.open()
    good = {"number": 1, "result": "0x12"}
    wrong: list[tuple[str, object, dict[str, str], int]] = [
        (f"{session}/answer", good, {"Origin": "http://attacker.example"}, 403),
        (f"{session}/answer", good, {"Origin": "null"}, 403),
        (f"{session}/answer", good, {"Origin": ""}, 403),
        (f"{session}/answer", good, {"Origin": asked.address.replace("http:", "https:")}, 403),
        (f"{session}/answer", good, {"Sec_Fetch_Site": "cross-site"}, 403),
        (f"{session}/answer", good, {"Host": "attacker.example"}, 421),
        (f"{session}/answer", good, {"Content_Type": "text/plain"}, 400),
        (f"{session}x/answer", good, {}, 404),
        ("/answer", good, {}, 404),
        ("/enter", {"code": asked.code}, {"Origin": "http://attacker.example"}, 403),
        ("/enter", {"code": asked.code}, {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/enter", [asked.code], {}, 400),
        (f"{session}/other", good, {}, 404),
        (f"{session}/answer", {"number": 2, "result": "0x"}, {}, 409),
        (f"{session}/answer", {"number": 0, "result": "0x"}, {}, 409),
        (f"{session}/answer", {"number": 1, "result": 7}, {}, 409),
        (f"{session}/answer", {}, {}, 409),
        (f"{session}/next", {"seen": "x"}, {}, 409),
        (f"{session}/answer", [good], {}, 400),
    ]
    for path, value, headers, status in wrong:
        assert asked.post(path, value, **headers)[0] == status, (path, value, headers)
    assert asked.outcome.empty()
    assert asked.post(f"{session}/answer", good)[0] == 200


@pytest.mark.parametrize(
    ("body", "length"),
    [(b"{", "1"), (b"[" * 50_000, ""), (b"", "0"), (b"{}", "-1"), (b"{}", str(MAX_BODY + 1)), (b"{}", "9" * 5_000)],
)
def test_body__that_is_malformed_or_too_long__is_refused(asked: Asked, body: bytes, length: str) -> None:
    session, own = asked.open(), {"Origin": f"http://{asked.host}", "Content_Type": "application/json"}
    headers = {"Content_Length": length} if length else {}
    with closing(socket.create_connection(asked.host.split(":"), LINGERING)) as connection:  # type: ignore[arg-type]
        lines = {"Host": asked.host, "Content_Length": str(len(body)), **own, **headers}
        head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
        connection.sendall(f"POST {session}/answer HTTP/1.1\r\n{head}\r\n".encode() + body)
        assert connection.recv(100).split()[1] == b"400"


def test_connections__that_say_nothing__are_few_and_do_not_end_the_page(asked: Asked) -> None:
    host, port = asked.host.split(":")
    idle = [socket.create_connection((host, int(port)), LINGERING) for _ in range(MAX_CONNECTIONS)]
    with closing(socket.create_connection((host, int(port)), LINGERING)) as refused:
        refused.settimeout(LINGERING)
        assert refused.recv(1) == b""
    for connection in idle:
        connection.close()
    for _ in range(10_000):
        with suppress(OSError):
            assert asked.open()
            break
    else:
        raise AssertionError("the page did not come back")


def test_page__that_is_closed__ends_the_wait_with_a_sentence(asked: Asked) -> None:
    session = asked.open()
    assert asked.post(f"{session}/closed", {})[0] == 200
    failed = asked.outcome.get(timeout=LINGERING)
    assert isinstance(failed, CommandFailed)
    assert failed.code == "page_closed"


def test_page__that_nobody_answers__is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "open_browser", lambda _address, _environment: None)
    monkeypatch.setattr(server, "ASK_SECONDS", 0.01)
    with WalletPage({}) as page, pytest.raises(CommandFailed) as failed:
        page.ask(TASK)
    assert failed.value.code == "wallet_not_answered"


def test_page__interrupted_while_its_wait_cannot_be_woken__still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: Queue[str] = Queue()
    is_noticed, has_ended = Queue[bool](), Event()
    monkeypatch.setattr(server, "open_browser", lambda file, _environment: addresses.put(address_in(file)))

    def interrupt(page: WalletPage) -> None:
        asked = Asked(page, addresses.get(), Queue())
        session = asked.open()
        asked.post(f"{session}/next", {"seen": 0})
        os.kill(os.getpid(), signal.SIGINT)
        is_noticed.put(has_ended.wait(LINGERING))
        with suppress(OSError):
            asked.post(f"{session}/closed", {})

    with WalletPage({}) as page:
        Thread(target=interrupt, args=(page,), daemon=True).start()
        # As when it comes in the moment before the wait: Python knows of it, and the wait goes on.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with pytest.raises(KeyboardInterrupt):
                page.ask(TASK)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        has_ended.set()
    assert is_noticed.get(timeout=LINGERING)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (None, "You can close this page."),
        (CommandRefused("signature_mismatch", "This is another's.", next_action="x"), "This is another's. You can"),
        (RuntimeError("inner"), "It failed. You can close this page."),
    ],
)
def test_page__at_the_end__shows_how_it_ended_and_its_address_is_gone(
    asked: Asked, error: BaseException | None, told: str
) -> None:
    session = asked.open()
    shown: Queue[str] = Queue()

    def follow() -> None:
        while "end" not in (text := asked.post(f"{session}/next", {"seen": 1})[1]):
            pass
        shown.put(text)

    Thread(target=follow, daemon=True).start()
    asked.page.__exit__(None, error, None)
    end = json.loads(shown.get(timeout=LINGERING))["end"]
    assert end["text"].startswith(told)
    with pytest.raises(OSError):
        asked.request("GET", asked.path)


@pytest.mark.parametrize("held", ["next", "answer"])
def test_page__while_it_is_sent_an_answer__keeps_the_command_from_ending(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, held: str
) -> None:
    session = asked.open()
    is_held, may_go_on = Event(), Event()
    end_headers = BaseHTTPRequestHandler.end_headers

    def hold_back(handler: BaseHTTPRequestHandler) -> None:
        end_headers(handler)
        if handler.path == f"{session}/{held}":
            is_held.set()
            may_go_on.wait(LINGERING)

    monkeypatch.setattr(BaseHTTPRequestHandler, "end_headers", hold_back)
    monkeypatch.setattr(server, "POLL_SECONDS", LINGERING)
    with ThreadPoolExecutor(3) as pool:
        answered = pool.submit(asked.post, f"{session}/answer", {"number": 1, "result": "0x12"})
        assert asked.outcome.get(timeout=LINGERING) == "0x12"
        ended = pool.submit(asked.page.__exit__, None, None, None)
        told = pool.submit(asked.post, f"{session}/next", {"seen": 1})
        assert is_held.wait(LINGERING)
        with pytest.raises(TimeoutError):
            ended.result(0.5)
        may_go_on.set()
        ended.result(LINGERING)
        assert answered.result(LINGERING) == (200, "{}")
        assert json.loads(told.result(LINGERING)[1])["end"]["title"] == "Done"


def test_browser__is_opened_by_a_process_that_runs_no_file_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo, trace = tmp_path / "address", tmp_path / "trace"
    os.mkfifo(fifo)
    (tmp_path / "webbrowser.py").write_text(f"open({str(trace)!r}, 'w')\n")
    opener = tmp_path / "open"
    opener.write_text(f'#!/bin/sh\necho "$1 $SERVICE_POSTER_PRIVATE_KEY" > {fifo}\n')
    opener.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    open_browser("http://127.0.0.1:9/token", {"PATH": os.environ["PATH"], "BROWSER": f"{opener} %s"})
    assert subprocess.run(["cat", fifo], capture_output=True, timeout=30, check=True).stdout == (
        b"http://127.0.0.1:9/token \n"
    )
    assert not trace.exists()
