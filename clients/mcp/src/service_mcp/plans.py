"""Plans: what an act would do, fixed by a digest before anybody approves it.

A plan is derived from the chain, the service and the files; its arguments are kept under its id, the digest of all that
is exact in it. Before it is begun it is derived anew from them: whatever changed in between, an amount, a file or a
text, gives another digest, and nothing is carried out. What it is carried out with is kept beside it, bytes that were
read once: an agent that writes to the work dir meanwhile changes nothing.
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bounty_protocol.foreign_json import read_json
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, Bytes32, ChainId
from bounty_protocol.wire.reading import read
from service_cli.disk import open_private, open_regular, private_folder, replace_private, state_directory

from service_mcp.policy import Role
from service_mcp.refusals import Refusal
from service_mcp.work_dir import WorkDir

Action = Literal["fund", "submit", "verdict", "claim"]
MOST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of an act as an agent gave them. ``path`` is below the work dir; ``text`` are reasons."""

    action: Action
    bounty_id: int | None = None
    path: str | None = None
    text: str | None = None
    submission: str | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """What is exact in a plan: it is the same each time it is derived, or the plan is another one."""

    chain_id: ChainId
    hub_address: Address
    role: Role
    account: Address
    content: str
    """What is signed about: a page's commitment, the fingerprint of files, a Verdict's commitment, a function."""
    spends: int = 0
    receives: int = 0
    byte_length: int = 0
    replaces: Bytes32 | None = None
    """The Submission in whose place a Submission is put: what was done of it in another place says nothing of it."""


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan that was prepared, whoever carries it out."""

    request: Request
    exact: Exact

    @property
    def plan_id(self) -> str:
        """The digest of all of it, 32 bytes in hex."""
        return hashlib.sha256(json.dumps(to_json(self), sort_keys=True).encode()).hexdigest()


def keep(plan: KeptPlan) -> None:
    """Remember a plan; a server that starts anew knows it, too."""
    private_folder(_folder())
    replace_private(_folder() / f"{plan.plan_id}.json", json.dumps(to_json(plan)))


def kept(plan_id: str) -> KeptPlan:
    """Return a plan that was prepared on this machine, exactly as it was."""
    unknown = Refusal("plan_unknown", "No such plan was prepared here.", next_action="Prepare it first.")
    if len(plan_id) != 64 or not set(plan_id) <= set("0123456789abcdef"):
        raise unknown
    try:
        with open_regular(_folder() / f"{plan_id}.json") as file:
            found = read(KeptPlan, read_json(file.read(MOST_BYTES)))
    except (OSError, ValueError):
        raise unknown from None
    if found.plan_id != plan_id:
        raise unknown
    return found


def changed(message: str) -> Refusal:
    """Return the refusal of a plan that is not what it was."""
    return Refusal("plan_changed", message, next_action="Prepare it again, and have the new plan approved.")


@dataclass(frozen=True, slots=True)
class Content:
    """What an act is about, read once: a page to fund, or a directory of this user's alone to be sealed."""

    page: bytes = b""
    directory: Path = Path()


@contextmanager
def content_of(request: Request, work_dir: WorkDir) -> Iterator[Content]:
    """Read it from the work dir. Directories are copied one at a time; one that is begun is moved away inside."""
    if request.action == "fund":
        yield Content(page=work_dir.read(str(request.path)))
    elif request.action == "submit":
        private_folder(_folder())
        with open_private(_folder() / "draft.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            draft = _folder() / "draft"
            shutil.rmtree(draft, ignore_errors=True)  # of a server that was killed
            try:
                work_dir.copy(str(request.path), draft)
                yield Content(directory=draft)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
    else:
        yield Content()


def begin(plan: KeptPlan, content: Content) -> Content:
    """Remember that a plan passed its checks, and what it is carried out with from now on, which is returned."""
    page, directory = (_folder() / f"{plan.plan_id}.{kind}" for kind in ("page", "files"))
    if plan.request.action == "fund":
        replace_private(page, content.page.decode())  # a plan of it was made: it is text
    elif plan.request.action == "submit":
        shutil.rmtree(directory, ignore_errors=True)  # of one that was killed before it was begun
        content.directory.rename(directory)
        os.sync()  # after a power cut half of the files would be sealed as the work
    replace_private(_folder() / f"{plan.plan_id}.begun", "")
    return Content(content.page, directory)


def begun(plan: KeptPlan) -> Content | None:
    """Return what an earlier call began a plan with."""
    marker, page, directory = (_folder() / f"{plan.plan_id}.{kind}" for kind in ("begun", "page", "files"))
    if not marker.exists():
        return None
    return Content(page.read_bytes() if plan.request.action == "fund" else b"", directory)


def _folder() -> Path:
    return state_directory() / "mcp" / "plans"
