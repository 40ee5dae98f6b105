"""A small JSON-RPC client for the local EVM node.

Promises: talks to the given address directly (no proxy of the environment), with a time limit for each call; a refusal
of the node is ``RpcRefused`` with its words, an unreachable node ``OSError``. Only for tests and the local stack.
"""

import http.client
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class RpcRefused(Exception):
    """The node answered with an error."""


class JsonRpc:
    """One node, one connection per call."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        self.url = url
        self._timeout = timeout
        self._ids = itertools.count(1)

    def call(self, method: str, *params: Json) -> Json:
        """The result of one call."""
        parts = urlsplit(self.url)
        body = json.dumps({"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params})
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=self._timeout)
        try:
            connection.request("POST", parts.path or "/", body, {"Content-Type": "application/json"})
            answer = json.loads(connection.getresponse().read())
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"no JSON-RPC answer to {method}: {error}") from error
        finally:
            connection.close()
        if "error" in answer:
            raise RpcRefused(f"{method}: {answer['error'].get('message', answer['error'])}")
        result: Json = answer.get("result")
        return result

    def text(self, method: str, *params: Json) -> str:
        """The result of a call that answers with a string."""
        result = self.call(method, *params)
        if not isinstance(result, str):
            raise RpcRefused(f"{method}: a string was expected")
        return result

    def number(self, method: str, *params: Json) -> int:
        """The result of a call that answers with a 0x-hex quantity."""
        return int(self.text(method, *params), 16)

    def record(self, method: str, *params: Json) -> Mapping[str, Json] | None:
        """The result of a call that answers with an object or null."""
        result = self.call(method, *params)
        if result is not None and not isinstance(result, Mapping):
            raise RpcRefused(f"{method}: an object was expected")
        return result
