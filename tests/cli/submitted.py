"""A sealed Submission on chain, and what an API holds of it."""

from dataclasses import dataclass
from pathlib import Path

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy


@dataclass(frozen=True, slots=True)
class Submitted:
    """A Submission past its reveal point, with what the API holds of it."""

    bounty: str
    solver: str
    commitment: str
    files: dict[str, bytes]
    objects: dict[str, bytes]
    envelopes: dict[str, bytes]
    page: bytes = b""

    @property
    def names(self) -> tuple[str, str, str]:
        return self.bounty, self.solver, self.commitment


def submit(ledger: Ledger, folder: Path) -> Submitted:
    """One bounty with one Submission, past its reveal point."""
    api, rpc = ApiTwin(ledger), RpcProxy(ledger.node.url)
    try:
        bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
        api.keep_page(page)
        home = person(ledger, api, rpc, folder, "solver-1")
        (folder / "work").mkdir()
        (folder / "work" / "main.py").write_bytes(b"print(1)\n")
        ran = home.run("solver:submit", str(bounty), str(folder / "work"))
        recorded = ran.event("submit.submission_recorded")
        ledger.reveal(bounty)
        return Submitted(
            str(bounty),
            str(recorded["solver"]),
            str(recorded["submission_commitment"]),
            {"main.py": b"print(1)\n"},
            api.objects,
            api.envelopes,
            page,
        )
    finally:
        api.close()
        rpc.close()


def load(api: ApiTwin, *found: Submitted) -> None:
    """Give the twin what was uploaded to another one."""
    for each in found:
        api.objects |= each.objects
        api.envelopes |= each.envelopes


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
