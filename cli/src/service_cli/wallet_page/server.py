"""The page's server: on 127.0.0.1 alone, for the person who has the command's code, for as long as it asks a wallet.

Another user of this machine, another page of the browser and a name that was made to point here get nothing: the
address alone shows an empty page, a code that only the owner has (``entrance``) is taken once and gives that page a
token, and what it sends back comes from the page's own origin under this token. Further visitors and wrong codes are
reported to the owner; after too many the command ends. Requests are few, short and bounded in time. What a wallet
answers is only passed on: the command checks it as it checks every signature and transaction.
"""

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from threading import BoundedSemaphore, Condition, Thread
from typing import Any, Final

from bounty_protocol.errors import ServiceError
from bounty_protocol.foreign_json import read_object

from service_cli.errors import CommandFailed
from service_cli.shell.output import announce_page, warn
from service_cli.wallet_page.entrance import is_same_code, new_code, private_file, shows_code

ASK_SECONDS: Final = 30 * 60.0
"""How long a person may take for one answer."""
_LOOK_SECONDS: Final = 0.5
"""How long a wait for the person may sleep through Ctrl-C: nothing wakes a wait that was just about to begin."""
POLL_SECONDS: Final = 15.0
"""How long the page's question for the next task is kept open."""
FAREWELL_SECONDS: Final = 2.0
"""How long an end waits for the page to hear of it."""
MAX_BODY: Final = 64 * 1024
MAX_WRONG_CODES: Final = 20
_MAX_REPORTS: Final = 5
MAX_CONNECTIONS: Final = 16
SOCKET_SECONDS: Final = 10.0
_HOST: Final = "127.0.0.1"
_AGAIN: Final = "Run the command again: it continues, and opens a new page."
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin-allow-popups",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # without any, a browser would send the page's own origin as null
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class WalletTask:
    """One thing that the wallet is asked for."""

    account: str
    chain_id: int
    title: str
    lines: Sequence[tuple[str, str]]
    """The request in words for a person: names and values."""
    button: str
    method: str
    """Of EIP-1193."""
    params: Sequence[object]

    def to_json(self, number: int, expected: int = 0) -> dict[str, object]:
        """As the page takes it; ``expected`` is how many are asked for in all, 0 where that is not known."""
        return {
            "number": number,
            "of": expected if 1 < expected >= number else 0,
            "account": self.account,
            "chain_id": self.chain_id,
            "title": self.title,
            "lines": [list(line) for line in self.lines],
            "button": self.button,
            "method": self.method,
            "params": list(self.params),
        }


class WalletPage:
    """The page of one command, opened with the first task; a context that closes it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        """Of the browser; without keys."""
        self._server: _Server | None = None
        self._state = _State()
        self._entrance = ExitStack()

    def __enter__(self) -> "WalletPage":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._entrance.close()
        if self._server is None:
            return
        if not isinstance(error, KeyboardInterrupt):
            self._state.finish(error)
        self._server.close()

    def expect(self, count: int) -> None:
        """How many tasks there will be, which the page shows beside each; more may come where one is asked again."""
        self._state.expected = count

    def ask(self, task: WalletTask) -> str:
        """The wallet's answer; ``CommandFailed`` where the page is closed or nobody answers."""
        if self._server is None:
            self._server = _Server(self._state)
            open_browser(self._show_entrance(f"{self._server.origin}/"), self._environment)
        return self._state.ask(task)

    def _show_entrance(self, address: str) -> str:
        """Show the person how to get in; what the browser opens."""
        if shows_code():
            warn(f"open {address} in the browser that has your wallet, and type this code there: {self._state.code}")
            return address
        file = self._entrance.enter_context(private_file(address, self._state.code, self._environment))
        warn(f"open {file} in the browser that has your wallet; it is yours alone, and leads to the page")
        announce_page(file.as_uri())
        return file.as_uri()


class _State:
    """The exchange of a command and its page, each in a thread of its own."""

    def __init__(self) -> None:
        self.code = new_code()
        self.session = secrets.token_urlsafe(24)
        self.expected = 0
        self._changed = Condition()
        self._task: WalletTask | None = None
        self._number = 0
        self._answer: str | None = None
        self._end: dict[str, str] | None = None
        self._is_closed = self._is_opened = self._is_told = False
        self._under_way = 0
        self._visits = self._wrong_codes = self._report_count = 0
        self._reports: list[str] = []

    def visit(self) -> bool:
        """Whether the page is still to be entered; a second visitor is reported."""
        with self._changed:
            self._visits += 1
            if self._visits > 1:
                self._report("The page's address was opened a second time")
            return not self._is_opened

    def enter(self, code: object) -> str | None:
        """The page's session for the code, once; everything else is reported."""
        with self._changed:
            if self._is_opened:
                self._report("Somebody tried to enter the page, which was entered already")
                return None
            if not isinstance(code, str) or self._wrong_codes >= MAX_WRONG_CODES or not is_same_code(code, self.code):
                self._wrong_codes += 1
                self._report("A wrong code was given to the page")
                return None
            self._is_opened = True
            return self.session

    def _report(self, what: str) -> None:
        """Have the owner read it; from the thread that prints, and not without end."""
        self._report_count += 1
        if self._report_count <= _MAX_REPORTS:
            self._reports.append(f"{what}. If that was not you, it was another user or program of this machine.")
        self._changed.notify_all()

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """While one question of the page is read and answered: the end waits until it has its answer."""
        with self._changed:
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def ask(self, task: WalletTask) -> str:
        with self._changed:
            self._task, self._answer = task, None
            self._number += 1
            self._changed.notify_all()
            gives_up_at = time.monotonic() + ASK_SECONDS
            while not self._has_answer():
                self._changed.wait_for(self._is_worth_a_look, _LOOK_SECONDS)
                self._print_reports()
                if self._wrong_codes >= MAX_WRONG_CODES:
                    message = f"{MAX_WRONG_CODES} wrong codes were given to the page: somebody guesses."
                    raise CommandFailed("page_guessed", message, next_action=_AGAIN)
                if not self._has_answer() and time.monotonic() >= gives_up_at:
                    message = "The wallet has not answered within half an hour."
                    raise CommandFailed("wallet_not_answered", message, next_action=_AGAIN)
            answer, self._task = self._take_answer(), None
        if answer is None:
            message = "The page was closed or loaded again before the wallet answered."
            raise CommandFailed("page_closed", message, next_action=_AGAIN)
        return answer

    def _has_answer(self) -> bool:
        return self._answer is not None or self._is_closed

    def _is_worth_a_look(self) -> bool:
        return self._has_answer() or bool(self._reports) or self._wrong_codes >= MAX_WRONG_CODES

    def _print_reports(self) -> None:
        for report in self._reports:
            warn(report)
        self._reports.clear()

    def _take_answer(self) -> str | None:
        return self._answer

    def next(self, seen: int) -> dict[str, object]:
        """The next task after the one of number ``seen``; waited for, and empty where nothing comes."""

        def is_new() -> bool:
            return self._end is not None or (self._task is not None and self._number > seen)

        with self._changed:
            self._changed.wait_for(is_new, POLL_SECONDS)
            if self._end is not None:
                self._is_told = True
                self._changed.notify_all()
                return {"end": self._end}
            return (
                {"task": self._task.to_json(self._number, self.expected)} if self._task is not None and is_new() else {}
            )

    def answer(self, number: object, result: object) -> bool:
        """Take the answer to the task that is asked now; anything else is not for it."""
        with self._changed:
            if number != self._number or self._task is None or self._answer is not None or not isinstance(result, str):
                return False
            self._answer = result
            self._changed.notify_all()
            return True

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def finish(self, error: BaseException | None) -> None:
        """Show the end on the page, if it is still there; until it was sent, the process that sends it may not end."""
        reason = "" if error is None else f"{error.message if isinstance(error, ServiceError) else 'It failed.'} "
        text = f"{reason}You can close this page."
        with self._changed:
            self._end = {"title": "Done" if error is None else "service-cli has stopped", "text": text}
            self._changed.notify_all()
            if self._is_opened and not self._is_closed:
                self._changed.wait_for(
                    lambda: self._is_closed or (self._is_told and not self._under_way), FAREWELL_SECONDS
                )


_Answering = Callable[[_State, Mapping[str, object]], dict[str, object] | None]
"""The handler of one kind of question of the page; None where nothing is asked that it could be for."""


class _Server(ThreadingHTTPServer):
    """A socket of this machine alone, with few connections at a time."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, state: _State) -> None:
        self.state = state
        self.nonce = secrets.token_urlsafe(24)
        self._places = BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__((_HOST, 0), _Handler)
        self.host = f"{_HOST}:{self.server_port}"
        self.origin = f"http://{self.host}"
        Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def server_bind(self) -> None:
        """Without the name server's answer, which the standard library would wait for."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, self.server_address[1]

    def close(self) -> None:
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke off is nobody's concern."""


class _Handler(BaseHTTPRequestHandler):
    """One request, refused with a sentence unless everything about it is the page's own."""

    server: _Server
    timeout = SOCKET_SECONDS

    def do_GET(self) -> None:
        # A file of the owner's leads here, too, which is another site. Without the code nothing is here to be seen.
        if not self._is_for_here({"none", "same-origin", "cross-site"}):
            return
        if not self._names(""):
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing at this address.")
        elif "prefetch" in self.headers.get("Sec-Purpose", ""):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "This page opens only for a person who looks at it.")
        elif not self.server.state.visit():
            self._refuse(HTTPStatus.GONE, f"This page was entered before, and opens only once. {_AGAIN}")
        else:
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self._page())

    def do_POST(self) -> None:
        if not self._is_for_here({"same-origin"}):
            return
        if self.headers.get("Origin") != self.server.origin:
            self._refuse(HTTPStatus.FORBIDDEN, "Another page may not answer for this one.")
            return
        if self._names("enter"):
            self._enter()
            return
        session = self.server.state.session
        name = next((name for name in _ANSWERS if self._names(f"{session}/{name}")), None)
        if name is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing at this address.")
            return
        with self.server.state.under_way():
            self._answer_the_page(_ANSWERS[name])

    def _enter(self) -> None:
        body = self._body()
        if body is None:
            self._refuse(HTTPStatus.BAD_REQUEST, "A JSON object of at most 64 KiB is expected.")
            return
        session = self.server.state.enter(body.get("code"))
        if session is None:
            self._refuse(HTTPStatus.FORBIDDEN, "This is not the code, or it was used before. Look at the terminal.")
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps({"session": session}))

    def _answer_the_page(self, answering: _Answering) -> None:
        body = self._body()
        if body is None:
            self._refuse(HTTPStatus.BAD_REQUEST, "A JSON object of at most 64 KiB is expected.")
            return
        answer = answering(self.server.state, body)
        if answer is None:
            self._refuse(HTTPStatus.CONFLICT, "This answers nothing that is asked now.")
            return
        self._send(HTTPStatus.OK, "application/json", json.dumps(answer))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is logged: the page's requests hold its session."""

    def _is_for_here(self, sites: set[str]) -> bool:
        """Refuse what a name made to point here, or another site, sent."""
        if self.headers.get_all("Host") != [self.server.host]:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, "This page has another address.")
        elif self.headers.get("Sec-Fetch-Site", "none") not in {*sites, "none"}:
            self._refuse(HTTPStatus.FORBIDDEN, "Another site may not open this page: type or paste its address.")
        else:
            return True
        return False

    def _names(self, path: str) -> bool:
        return secrets.compare_digest(self.path.encode("latin-1", "replace"), f"/{path}".encode())

    def _body(self) -> dict[str, object] | None:
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Content-Type") != "application/json" or not (length.isascii() and length.isdigit()):
            return None
        if len(length) > 6 or int(length) > MAX_BODY:
            return None
        try:
            return read_object(self.rfile.read(int(length)), with_half_pairs=True)
        except (ValueError, OSError):
            return None

    def _page(self) -> str:
        folder = files("service_cli.wallet_page")
        html = (folder / "page.html").read_text(encoding="utf-8")
        values = {"nonce": self.server.nonce}
        values["script"] = (folder / "page.js").read_text(encoding="utf-8")
        for name, value in values.items():
            html = html.replace("{{" + name + "}}", value)
        return html

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        self._send(status, "text/plain; charset=utf-8", sentence)

    def _send(self, status: HTTPStatus, media_type: str, text: str) -> None:
        body, nonce = text.encode(), f"'nonce-{self.server.nonce}'"
        policy = (
            f"default-src 'none'; script-src {nonce}; style-src {nonce}; connect-src 'self'; img-src data:; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Security-Policy": policy, "Content-Type": media_type}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)


def _next(state: _State, body: Mapping[str, object]) -> dict[str, object] | None:
    seen = body.get("seen")
    return state.next(seen) if isinstance(seen, int) else None


def _answer(state: _State, body: Mapping[str, object]) -> dict[str, object] | None:
    return {} if state.answer(body.get("number"), body.get("result")) else None


def _closed(state: _State, _body: Mapping[str, object]) -> dict[str, object]:
    state.close()
    return {}


_ANSWERS: Final[Mapping[str, _Answering]] = {
    "next": _next,
    "answer": _answer,
    "closed": _closed,
}


def open_browser(address: str, environment: Mapping[str, str]) -> None:
    """Open the user's browser, which prints nothing here; where there is none, the address was printed.

    A process of its own, isolated: a ``webbrowser.py`` of the working directory is not run.
    """
    quiet = subprocess.DEVNULL
    with suppress(OSError):
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "webbrowser", address],
            stdin=quiet, stdout=quiet, stderr=quiet, env=environment, start_new_session=True,
        )  # fmt: skip
        Thread(target=process.wait, daemon=True).start()
