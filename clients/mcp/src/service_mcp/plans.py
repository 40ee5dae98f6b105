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
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId
from bounty_protocol.wire.reading import read
from service_cli.client import Refused
from service_cli.disk import open_private, open_regular, private_folder, replace_private, state_directory, sync_folder

from service_mcp.policy import Role
from service_mcp.work_dir import WorkDir

Action = Literal["fund", "submit", "verdict", "claim"]
PAGE: Final = "page.md"
"""The page to fund, in what ``read_once`` yields."""
_MOST_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of an act as an agent gave them. ``path`` is below the work dir; ``text`` are reasons; a page to
    fund has no bounty yet, 0.
    """

    action: Action
    bounty_id: int = 0
    path: str | None = None
    text: str | None = None
    submission: str | None = None

    @property
    def bounty(self) -> BountyId:
        return BountyId(self.bounty_id)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and at which Hub."""

    chain_id: ChainId
    hub_address: Address
    role: Role
    account: Address


@dataclass(frozen=True, slots=True)
class Exact:
    """What is exact in a plan: it is the same each time it is derived, or the plan is another one."""

    actor: Actor
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
    unknown = Refused("plan_unknown", "No such plan was prepared here.", next_action="Prepare it first.")
    if len(plan_id) != 64 or not set(plan_id) <= set("0123456789abcdef"):
        raise unknown
    try:
        with open_regular(_folder() / f"{plan_id}.json") as file:
            found = read(KeptPlan, read_json(file.read(_MOST_BYTES)))
    except (OSError, ValueError):
        raise unknown from None
    if found.plan_id != plan_id:
        raise unknown
    return found


@contextmanager
def read_once(request: Request, work_dir: WorkDir) -> Iterator[Path]:
    """Yield a directory of this user's alone with what an act is about: the page, the files to be sealed, or nothing.

    There is one at a time, under one path, which the fingerprint of files depends on. ``begin`` takes it from there.
    """
    private_folder(_folder())
    with open_private(_folder() / "draft.lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        draft = _folder() / "draft"
        shutil.rmtree(draft, ignore_errors=True)  # of a server that was killed
        try:
            if request.action == "submit":
                work_dir.copy(str(request.path), draft)
            else:
                draft.mkdir(mode=0o700)
            if request.action == "fund":
                (draft / PAGE).write_bytes(work_dir.read(str(request.path)))
            yield draft
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def begin(plan: KeptPlan, draft: Path) -> Path:
    """Keep what a plan passed its checks with; it is carried out with the directory that is returned."""
    if any(draft.iterdir()):
        os.sync()  # after a power cut half of the files would be sealed as the work
    draft.rename(_content(plan))
    sync_folder(_folder())
    return _content(plan)


def begun(plan: KeptPlan) -> Path | None:
    """Return what an earlier call began a plan with."""
    return _content(plan) if _content(plan).is_dir() else None


def _content(plan: KeptPlan) -> Path:
    return _folder() / plan.plan_id


def _folder() -> Path:
    return state_directory() / "mcp" / "plans"
