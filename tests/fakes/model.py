"""A model's endpoint that speaks OpenAI's chat completions over HTTP, and answers what a test tells it.

It checks what every request must be (path, key, messages, strict schema) and keeps it; the next answer is the first of
``script``, else ``READY``.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tests.serving import serving

KEY: Final = "made-up-key-of-tests"
MODEL: Final = "reviewer-of-tests"
READY: Final = '{"ready": true, "issues": []}'


def not_ready(path: str = "body", message: str = "Say which version is meant.") -> str:
    """An answer with one issue."""
    return json.dumps({"ready": False, "issues": [{"path": path, "message": message}]})


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer. ``drip`` sends it byte by byte with that many seconds between; ``cut`` closes the connection."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drip: float = 0.0
    cut: bool = False


def says(text: str | None, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    """A completion with this text."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    completion = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_795_000_000,
        "model": f"{MODEL}-2026-11-01",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 1_200, "completion_tokens": 20, "total_tokens": 1_220},
    }
    return Reply(body=json.dumps(completion).encode(), headers={"Content-Type": "application/json"})


class ModelTwin:
    """The endpoint. Thread-safe enough for tests: one script, one list of requests."""

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.requests: list[dict[str, object]] = []
        self.released = threading.Event()
        self.released.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._serving = ExitStack()
        self._serving.enter_context(serving(self._server))

    @property
    def url(self) -> str:
        """What SERVICE_OPENAI_BASE_URL is."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def variables(self, **changes: str) -> dict[str, str]:
        """The reviewer's environment for this endpoint."""
        return {
            "SERVICE_REVIEW_PROVIDER": "openai",
            "SERVICE_OPENAI_BASE_URL": self.url,
            "SERVICE_OPENAI_API_KEY": KEY,
            "SERVICE_OPENAI_MODEL": MODEL,
            **changes,
        }

    def answer(self, request: dict[str, object]) -> Reply:
        """Keep the request; the scripted reply, once nothing holds answers back."""
        self.requests.append(request)
        reply = self.script.pop(0) if self.script else says(READY)
        self.released.wait(60)
        return reply

    def close(self) -> None:
        """Stop."""
        self.released.set()
        self._serving.close()


def _handler(twin: ModelTwin) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Authorization"] != f"Bearer {KEY}" or self.path != "/v1/chat/completions":
                self.send(Reply(401, b'{"error": {"message": "wrong key", "type": "auth", "code": null}}'))
                return
            self.send(twin.answer(json.loads(body)))

        def send(self, reply: Reply) -> None:
            time.sleep(reply.wait)
            self.close_connection = True
            if reply.cut:
                self.connection.close()
                return
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for start in range(0, len(reply.body), 1 if reply.drip else len(reply.body) or 1):
                    self.wfile.write(reply.body[start : start + (1 if reply.drip else len(reply.body))])
                    time.sleep(reply.drip)
            except OSError:
                return  # the client has given up

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler
