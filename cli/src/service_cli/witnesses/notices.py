"""Notices about the Hub: while one is in effect nothing is funded, and work is submitted only when asked to.

An API is not believed: signer and signature are checked on the chain. Any configured endpoint that confirms a warning
is enough, since a false yes costs waiting and a false no the escrow; a withdrawal ends a warning where every endpoint
confirms it, for the same reason. What counted once is kept on this machine until its end, each beside the others, so
that an API which does not show it any more changes nothing, nor one that shows something later which counts for one run
alone. All are checked again at each use, and void once their signer has lost the right.
"""

import hashlib
import json
import os
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bounty_protocol.chain.hub_notices import why_void
from bounty_protocol.domain.hub_notice import MOST_NOTICES, STATES, HubNotice, latest_of_each
from bounty_protocol.errors import Issue
from bounty_protocol.foreign_json import read_json
from bounty_protocol.shapes import to_json
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.reading import read

from service_cli.api import ApiClient
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.disk import open_private, open_regular, private_file, state_directory, sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import warn
from service_cli.shell.text import moment

if TYPE_CHECKING:
    from bounty_protocol.wire.deployment import Deployment

CODE: Final = "hub_notice"
MOST_BYTES: Final = 16_384
"""Of a notice that is kept or brought: twice the longest signature as hex."""
MOST_KEPT: Final = 64
"""Of one Hub on this machine. A further one takes the place of some that do not count, or counts without being kept."""
_LOOK: Final = "Look where the Hub's address was published for what happened, and for another Hub."
_GOES_ON: Final = "Bounties that exist are judged, opened and claimed as before."


@dataclass(frozen=True, slots=True)
class Notices:
    """The notices that count on this chain now: the latest notice of each signer, the newest first."""

    counting: tuple[HubNotice, ...]

    @property
    def in_effect(self) -> HubNotice | None:
        """The newest that asks nobody to fund a bounty."""
        return next((notice for notice in self.counting if notice.is_warning), None)


def require_fundable(chain: ChainClient, served: "Deployment | None") -> None:
    """Refuse to fund while a notice is in effect. There is no option against that."""
    if (notice := notices_of(chain, served).in_effect) is not None:
        next_action = f"{_LOOK} {_GOES_ON} An authorization that was signed before is good for an hour at most."
        raise CommandRefused(CODE, f"{said(chain, notice)} Nothing was signed or sent.", next_action=next_action)


def heed(chain: ChainClient, api: ApiClient | None, *, despite: bool) -> None:
    """Before a Submission: refuse while a notice is in effect, or with ``despite`` show it and go on."""
    try:
        notice = notices_of(chain, None if api is None else served_by(api)).in_effect
    except CommandFailed as failure:
        if not despite:
            raise
        warn(f"warning: whether there is a notice about the Hub is not known: {failure.message}")
        return
    if notice is None:
        return
    if not despite:
        next_action = f"{_LOOK} {_GOES_ON} To submit all the same, which costs its gas, add --despite-notice."
        raise CommandRefused(CODE, f"{said(chain, notice)} Nothing was signed or sent.", next_action=next_action)
    warn(f"warning: {said(chain, notice)} Going on, as --despite-notice says.")


def said(chain: ChainClient, notice: HubNotice) -> str:
    """A notice in effect as people read it."""
    now = _now(chain)
    when, until = moment(notice.issued_at, now), moment(notice.expires_at, now)
    return (
        f"{notice.signer}, which the Hub's owner names for notices, has signed at {when} that "
        f"{STATES[notice.reason]}, and that nobody should fund a bounty on it until {until}."
    )


def notices_of(chain: ChainClient, served: "Deployment | None") -> Notices:
    """Those that this machine keeps and those that the API ``served``, as far as the chain bears them out.

    Where one cannot be kept, as on a server that has no place for it, it counts all the same.
    """
    counting = _counting(chain, (*_kept(chain), *(() if served is None else served.hub_notices)))
    try:
        _keep(chain, counting)
    except CommandFailed as failure:
        warn(f"warning: {failure.message} This run alone heeds it.")
    return Notices(latest_of_each(counting))


def keep(chain: ChainClient, notices: Iterable[HubNotice]) -> None:
    """Check notices on the chain, and keep every one that counts: none takes another's place on the disk."""
    _keep(chain, _counting(chain, notices))


def _counting(chain: ChainClient, notices: Iterable[HubNotice]) -> list[HubNotice]:
    return [notice for notice in dict.fromkeys(notices) if not _why_void(chain, notice)]


def _keep(chain: ChainClient, counting: Iterable[HubNotice]) -> None:
    names = {_name(notice): notice for notice in counting}
    for name, notice in names.items():
        _remember(_folder(chain), name, notice, counting=names)


def require_counting(chain: ChainClient, notice: HubNotice) -> None:
    """Refuse one that a person brought and the chain does not bear out, with every reason."""
    if issues := _why_void(chain, notice):
        message = "This is no notice about this Hub that counts now."
        next_action = "Get it again from where it was published, and check the network; nothing was kept."
        raise CommandRefused("hub_notice_void", message, issues=issues, next_action=next_action)


def served_by(api: ApiClient) -> "Deployment":
    """The API's description with the notices that it shows now, none of them proven. A release before this one shows
    none."""
    from bounty_protocol.wire.deployment import Deployment

    served = api.get("/api/deployment").read(Deployment)
    if len(served.hub_notices) > MOST_NOTICES:
        raise api.peer.malformed(f" answered more than {MOST_NOTICES} notices about the Hub.")
    return served


def parse_notice(data: bytes) -> HubNotice:
    """A notice as it is published; ``ValueError`` for anything else."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"at most {MOST_BYTES} bytes")
    return read(HubNotice, read_json(data))


def _why_void(chain: ChainClient, notice: HubNotice) -> list[Issue]:
    """Why a notice does not count: a warning by what every endpoint says, a withdrawal by what any of them says."""
    issues = _by(chain, chain, notice)
    if notice.is_warning:
        if issues and all(issue.path in {"signer", "signature"} for issue in issues):  # an endpoint's word
            return issues if all(_by(chain, other, notice) for other in chain.further) else []
        return issues
    return issues or next(filter(None, (_by(chain, other, notice) for other in chain.further)), [])


def _by(chain: ChainClient, endpoint: ChainClient, notice: HubNotice) -> list[Issue]:
    with chain_errors():
        return why_void(endpoint.hub, chain.chain_id, notice, _now(chain))


def _now(chain: ChainClient) -> UnixSeconds:
    """By this machine's clock, so that no endpoint ends a notice; by the chain's where its time is moved by hand."""
    return chain.latest().time if chain.settings.has_moved_time() else UnixSeconds(int(time.time()))


def _kept(chain: ChainClient) -> Iterator[HubNotice]:
    """The notices on this machine; those that are over are removed, as far as the folder can be written."""
    now = _now(chain)
    for path in sorted(_folder(chain).glob("0x*.json")):
        try:
            with open_regular(path) as file:
                notice = parse_notice(file.read(MOST_BYTES + 1))
        except (OSError, ValueError):
            warn(f"warning: the notice about the Hub that is kept in {path} cannot be read, and is passed over")
            continue
        if notice.expires_at > now:
            yield notice
            continue
        with suppress(OSError):
            path.unlink()


def _remember(folder: Path, name: str, notice: HubNotice, *, counting: Container[str]) -> None:
    """Keep a proven notice; on disk before this returns."""
    path = folder / name
    text = json.dumps(to_json(notice))
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, ValueError):
        pass
    if not _has_room(folder, counting):
        warn(f"warning: {MOST_KEPT} notices about the Hub are kept in {folder}; this run alone heeds a further one")
        return
    private_file(folder, "lock").close()
    draft = folder / f"{name}.{os.getpid()}.new"
    try:
        with open_private(draft, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(folder)
    except OSError as error:
        problem = f"The notice about the Hub cannot be kept in {folder}."
        raise CommandFailed("journal_not_written", problem, next_action="Make room or check its rights.") from error


def _has_room(folder: Path, counting: Container[str]) -> bool:
    """Whether one more is kept; of too many, those that do not count now are removed."""
    kept = list(folder.glob("0x*.json"))
    if len(kept) < MOST_KEPT:
        return True
    removed = False
    for path in kept:
        if path.name not in counting:
            with suppress(OSError):
                path.unlink(missing_ok=True)
                removed = True
    return removed


def _name(notice: HubNotice) -> str:
    return f"{notice.signer}-{hashlib.sha256(json.dumps(to_json(notice)).encode()).hexdigest()[:16]}.json"


def _folder(chain: ChainClient) -> Path:
    return state_directory() / f"{chain.chain_id}-{chain.hub.address}" / "notices"
