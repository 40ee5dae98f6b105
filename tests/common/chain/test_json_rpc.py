"""Endpoints that fail, lie or refuse."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from service_common.chain.json_rpc import ChainUnavailable, JsonRpc, RpcRefused, quantity


@contextmanager
def endpoint(body: bytes, status: int = 200) -> Iterator[str]:
    """A server that always answers this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/secret-key"
    server.shutdown()
    server.server_close()


GOOD = json.dumps({"jsonrpc": "2.0", "id": 0, "result": "0x10"}).encode()
BAD = [b"", b"<html>", b"[]", b'{"id":0}', b'{"id":7,"result":"0x1"}', b"null", b'{"id":0,"error":"text"}']


@pytest.mark.parametrize("body", BAD)
def test_endpoint__with_a_malformed_answer__is_passed_over(body: bytes) -> None:
    with endpoint(body) as bad, endpoint(GOOD) as good:
        assert quantity(JsonRpc([bad, good]).call("eth_blockNumber")) == 16
        with pytest.raises(ChainUnavailable) as caught:
            JsonRpc([bad]).call("eth_blockNumber")
    assert "secret-key" not in str(caught.value)


def test_endpoint__that_is_down__is_passed_over_and_the_next_one_remembered() -> None:
    with endpoint(GOOD) as good:
        rpc = JsonRpc(["http://127.0.0.1:9", good])
        assert rpc.call("eth_blockNumber") == "0x10"
        assert rpc.endpoints.preferred.place == 2


def test_refusal__of_an_endpoint__carries_revert_data_and_is_not_retried() -> None:
    body = json.dumps({"id": 0, "error": {"code": 3, "message": "reverted", "data": "0xdeadbeef"}}).encode()
    with endpoint(body) as url, pytest.raises(RpcRefused) as caught:
        JsonRpc([url]).call("eth_call")
    assert caught.value.data == bytes.fromhex("deadbeef")
