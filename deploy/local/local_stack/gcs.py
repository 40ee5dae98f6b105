"""The local storage with Google's interface as a child process, for a stack or a test session.

It has one bucket and one throw-away service account made for this run, whose private half only ``credentials_file``
holds; objects survive ``kill`` and ``restart``.
"""

import http.client
import json
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gcs_twin.keys import make_service_account

from local_stack.ports import HOST
from local_stack.process import StackError, StopRule
from local_stack.runtime import Runtime, shared_or_own
from local_stack.server import HttpServer
from local_stack.toolbox import LOCAL

BUCKET: Final = "local-stack"
_CORS: Final = LOCAL.parent / "storage" / "cors.json"
"""The rules that a deployment's bucket gets; here every origin has them."""


class GcsServer(HttpServer):
    """A running local storage; ``url`` is the value of SERVICE_STORAGE_ENDPOINT."""

    rule = StopRule(grace=5.0)
    python_path = LOCAL

    def __init__(self, runtime: Runtime, directory: Path) -> None:
        super().__init__(runtime, directory)
        self.bucket = BUCKET
        self.credentials_file = directory / "service-account.json"
        self._cors_file = directory / "cors.json"
        rules = json.loads(_CORS.read_text(encoding="utf-8"))
        local = [rule | {"origin": ["*"]} for rule in rules]  # the pages' port is chosen later
        self._cors_file.write_text(json.dumps(local), encoding="utf-8")

    @contextmanager
    def without_room(self, most_bytes: int) -> Iterator[None]:
        """No file that it writes may be longer, as where its disk is full."""
        if self.child is None:
            raise StackError("a storage that does not run has no disk")
        _, hard = before = resource.prlimit(self.child.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.child.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))
        try:
            yield
        finally:
            resource.prlimit(self.child.pid, resource.RLIMIT_FSIZE, before)

    def _command(self, port: int) -> list[str | Path]:
        # The token's audience names the port, so the account is made when the port is known.
        if port != self.port:
            make_service_account(self._directory, f"http://{HOST}:{port}/token")
        account = self._directory / "service-account.public.json"
        return [
            *(sys.executable, "-m", "gcs_twin", "--port", str(port), "--bucket", self.bucket),
            *("--root", self._directory / "objects", "--credentials-file", account),
            *("--cors-file", self._cors_file),
        ]

    def _answers(self, port: int) -> bool:
        connection = http.client.HTTPConnection(HOST, port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


@contextmanager
def start(runtime: Runtime | None = None, *, name: str = "gcs-twin", timeout: float = 30.0) -> Iterator[GcsServer]:
    """A new, empty bucket; in ``runtime`` (whose owner stops it) or, without one, for this with statement alone."""
    with shared_or_own(runtime) as inside:
        server = GcsServer(inside, inside.directory(name))
        (server.credentials_file.parent / "objects").mkdir(mode=0o700)
        server.launch(timeout)
        yield server
