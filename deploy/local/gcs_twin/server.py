"""The HTTP surface: the JSON interface for the library, the XML interface for signed URLs, the token endpoint.

Every object request is authorized by a signed URL or by an access token. A refused upload stores nothing, and bodies
stream in constant memory. A log line never holds a query, since signatures are there.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import unquote

from gcs_twin.answers import ErrorAnswer
from gcs_twin.bodies import Body, BodyCut, byte_range
from gcs_twin.cors import CorsRule, answer_headers, preflight_headers
from gcs_twin.keys import Account
from gcs_twin.objects import Declared, Objects, Stored
from gcs_twin.resources import JSON_PATH, facts_headers, resource
from gcs_twin.signature import SignedRequest, query_pairs, verify
from gcs_twin.tokens import Tokens

_DOWNLOAD: Final = "/download/storage/v1/b/"
_DRAIN_BYTES: Final = 16 * 1024 * 1024
_KNOWN: Final = {
    *("alt", "generation", "ifGenerationMatch", "prefix", "maxResults", "pageToken", "projection", "fields"),
    *("prettyPrint", "userProject"),
}


@dataclass(frozen=True, slots=True)
class Twin:
    """State shared by the requests."""

    bucket: str
    account: Account
    objects: Objects
    tokens: Tokens
    cors: tuple[CorsRule, ...] = ()
    now: Callable[[], float] = time.time


def make_server(host: str, port: int, twin: Twin) -> ThreadingHTTPServer:
    """Make a server that is bound and not yet serving; port 0 chooses one."""

    class Bound(Handler):
        pass

    Bound.twin = twin
    return Server((host, port), Bound)


class Server(ThreadingHTTPServer):
    """A thread per connection."""

    daemon_threads = True
    request_queue_size = 256


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    twin: Twin
    protocol_version = "HTTP/1.1"
    server_version = "gcs-twin"
    sys_version = ""
    timeout = 60
    disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_PUT = do_POST = do_DELETE = do_OPTIONS = do_GET  # noqa: N815

    def _serve(self) -> None:
        self._path, _, self._query = self.path.partition("?")
        self._names = {name.lower(): ",".join(self.headers.get_all(name, [])) for name in self.headers}
        try:
            self._body = Body(self.rfile, self._names.get("content-length"), self._names.get("transfer-encoding"))
            self._route()
        except ErrorAnswer as refused:
            self._refuse(refused)
        except (BodyCut, ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 - a bug of ours must not look like a refusal
            self.log_message("failed: %r", error)
            self.close_connection = True

    def _refuse(self, refused: ErrorAnswer) -> None:
        if self._path == "/token":
            body, form = refused.as_oauth(), "json"
        elif self._path.startswith((JSON_PATH, _DOWNLOAD)):
            body, form = refused.as_json(), "json"
        else:
            body, form = refused.as_xml(), "xml"
        self._answer(refused.status, body, {"Content-Type": f"application/{form}"})

    def _route(self) -> None:
        if self._path == "/token" and self.command == "POST":
            form = b"".join(self._body.chunks((1, 65_536)))
            self._answer_json(self.twin.tokens.exchange(form))
        elif self._path == "/healthz" and self.command == "GET":
            self._answer_json({"status": "ok"})
        elif self.command == "OPTIONS":
            self._answer(200, b"", preflight_headers(self.twin.cors, self._names))
        elif self._path.startswith((JSON_PATH, _DOWNLOAD)):
            self._json_interface()
        else:
            self._xml_interface()

    def _json_interface(self) -> None:
        self.twin.tokens.check(self._names.get("authorization", ""))
        query = dict(query_pairs(self._query.replace("+", " ")))  # as forms are encoded; signed URLs are not
        if unknown := query.keys() - _KNOWN:
            raise ErrorAnswer(400, "invalid", f"This storage does not have the parameter {', '.join(sorted(unknown))}.")
        bucket, _, rest = self._path.partition("/b/")[2].partition("/")
        self._check_bucket(unquote(bucket))
        kind, slash, name = rest.partition("/")
        if kind == "o" and slash:
            self._json_object(unquote(name), query)
        elif kind == "o" and self.command == "GET":
            self._list(query)
        elif not rest and self.command == "GET":
            self._answer_json({"kind": "storage#bucket", "id": self.twin.bucket, "name": self.twin.bucket})
        else:
            raise ErrorAnswer(405, "methodNotAllowed", "This storage does not have this method here.")

    def _json_object(self, name: str, query: Mapping[str, str]) -> None:
        objects, bucket = self.twin.objects, self.twin.bucket
        generation, if_generation = _number(query.get("generation")), _number(query.get("ifGenerationMatch"))
        if self.command == "DELETE":
            objects.delete(bucket, name, generation=generation, if_generation=if_generation)
            self._answer(204)
            return
        if self.command != "GET":
            raise ErrorAnswer(405, "methodNotAllowed", "This storage does not have this method here.")
        facts = objects.find(bucket, name, generation)
        objects.check(bucket, name, if_generation)
        if query.get("alt") == "media":
            self._media(facts)
        else:
            self._answer_json(resource(facts))

    def _list(self, query: Mapping[str, str]) -> None:
        size, after = min(_number(query.get("maxResults")) or 1000, 1000), query.get("pageToken", "")
        found = self.twin.objects.list(self.twin.bucket, query.get("prefix", ""))
        page = [facts for facts in found if facts.name > after]
        answer: dict[str, object] = {"kind": "storage#objects", "items": [resource(facts) for facts in page[:size]]}
        if len(page) > size:
            answer["nextPageToken"] = page[size - 1].name
        self._answer_json(answer)

    def _xml_interface(self) -> None:
        query = self._verified()
        bucket, _, name = self._path[1:].partition("/")
        self._check_bucket(unquote(bucket))
        if self.command in {"GET", "HEAD"}:
            self._media(self.twin.objects.find(self.twin.bucket, unquote(name), _number(query.get("generation"))))
        elif self.command == "PUT" and name:
            self._upload(unquote(name))
        else:
            raise ErrorAnswer(405, "MethodNotAllowed", "This storage does not have this method here.")

    def _verified(self) -> dict[str, str]:
        """Return the query of a signed URL; one signed for GET serves HEAD too."""
        method = "GET" if self.command == "HEAD" else self.command
        return verify(SignedRequest(method, self._path, self._query, self._names), self.twin.account, self.twin.now)

    def _upload(self, name: str) -> None:
        limits = self._body.check_length(self._names.get("x-goog-content-length-range"))
        declared = Declared(
            content_type=self._names.get("content-type", "application/octet-stream"),
            content_encoding=self._names.get("content-encoding", ""),
            cache_control=self._names.get("cache-control", ""),
            custom={key[12:]: value for key, value in self._names.items() if key.startswith("x-goog-meta-")},
        )
        facts = self.twin.objects.create(
            *(self.twin.bucket, name, self._body.chunks(limits), declared),
            if_generation=_number(self._names.get("x-goog-if-generation-match")),
        )
        self._answer(200, b"", facts_headers(facts))

    def _media(self, facts: Stored) -> None:
        with self.twin.objects.open(facts) as file:
            found = byte_range(self._names.get("range"), facts.size)
            first, last = found or (0, facts.size - 1)
            headers = facts_headers(facts) | {"Content-Type": facts.content_type, "Accept-Ranges": "bytes"}
            if facts.content_encoding:
                headers["Content-Encoding"] = facts.content_encoding
            if found:
                headers["Content-Range"] = f"bytes {first}-{last}/{facts.size}"
            self._start(206 if found else 200, last - first + 1, headers)
            self.wfile.flush()
            if self.command != "HEAD" and last >= first:
                self.connection.sendfile(file, first, last - first + 1)

    def _check_bucket(self, bucket: str) -> None:
        if bucket != self.twin.bucket:
            raise ErrorAnswer(404, "NoSuchBucket", "The specified bucket does not exist.")

    def _answer_json(self, value: object) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json; charset=UTF-8"})

    def _answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        unread = self._body.unread
        self._start(status, len(body), {**(headers or {}), **({"Connection": "close"} if unread else {})})
        if self.command != "HEAD":
            self.wfile.write(body)
        if unread:
            self._drain()

    def _start(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in (answer_headers(self.twin.cors, self.command, self._names) | dict(headers)).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _drain(self) -> None:
        """Read some of a refused body, so that its sender sees the answer before the connection closes."""
        self.wfile.flush()
        drained = 0
        while drained < _DRAIN_BYTES and (chunk := self.rfile.read1(65_536)):
            drained += len(chunk)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """One line to stderr, without the query."""
        line = (format % args).replace(f"?{self.path.partition('?')[2]}", "?…") if "?" in self.path else format % args
        sys.stderr.write(f"{self.log_date_time_string()} {line}\n")


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise ErrorAnswer(400, "InvalidArgument", "A generation or a count is a whole number.")
    return int(text)
