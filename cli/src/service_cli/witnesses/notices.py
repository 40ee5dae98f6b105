"""Notices about the Hub: while one is in effect nothing is funded, and work is submitted only when asked to.

An API is not believed: signer and signature are checked on the chain, and any configured endpoint that confirms a
notice is enough, since a false yes costs waiting and a false no the escrow. What was true once is kept on this machine
until its end, so that an API which does not show it any more changes nothing; it is checked again at each use, and void
once its signer has lost the right.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from service_common.chain.hub_notices import why_void
from service_common.domain.hub_notice import MOST_NOTICES, STATES, HubNotice, latest_of_each
from service_common.errors import Issue
from service_common.foreign_json import read_json
from service_common.shapes import to_json
from service_common.types import UnixSeconds
from service_common.wire.deployment import Deployment
from service_common.wire.reading import read

from service_cli.api import ApiClient
from service_cli.chain.session import ChainClient, chain_errors
from service_cli.disk import open_private, open_regular, private_file, state_directory, sync_folder
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.shell.output import warn
from service_cli.shell.text import moment

CODE: Final = "hub_notice"
MOST_BYTES: Final = 16_384
"""Of a notice that is kept or brought: twice the longest signature as hex."""
_LOOK: Final = "Look where the Hub's address was published for what happened, and for another Hub."
_GOES_ON: Final = "Bounties that exist are judged, opened and claimed as before."


@dataclass(frozen=True, slots=True)
class Notices:
    """What counts on this chain now: the latest notice of each signer, the newest first."""

    counting: tuple[HubNotice, ...]

    @property
    def in_effect(self) -> HubNotice | None:
        """The newest that asks nobody to fund a bounty."""
        return next((notice for notice in self.counting if notice.is_warning), None)


def require_fundable(chain: ChainClient, api: ApiClient | None) -> None:
    """Refuse to fund while a notice is in effect. There is no option against that."""
    if (notice := notices_of(chain, api).in_effect) is not None:
        next_action = f"{_LOOK} {_GOES_ON} An authorization that was signed before is good for an hour at most."
        raise CommandRefused(CODE, f"{said(chain, notice)} Nothing was signed or sent.", next_action=next_action)


def heed(chain: ChainClient, api: ApiClient | None, *, despite: bool) -> None:
    """Before a Submission: refuse while a notice is in effect, or with ``despite`` show it and go on."""
    try:
        notice = notices_of(chain, api).in_effect
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


def notices_of(chain: ChainClient, api: ApiClient | None) -> Notices:
    """Those that this machine keeps and those that the API shows, as far as the chain bears them out."""
    shown = () if api is None else shown_by(api)
    return keep(chain, (*_kept(chain), *shown))


def keep(chain: ChainClient, notices: Iterable[HubNotice]) -> Notices:
    """Check notices on the chain, and keep those that count: each is proven before it can replace another."""
    counting = [notice for notice in dict.fromkeys(notices) if not _why_void(chain, notice)]
    latest = latest_of_each(counting)
    for notice in latest:
        _remember(chain, notice)
    return Notices(latest)


def require_counting(chain: ChainClient, notice: HubNotice) -> None:
    """Refuse one that a person brought and the chain does not bear out, with every reason."""
    if issues := _why_void(chain, notice):
        message = "This is no notice about this Hub that counts now."
        next_action = "Get it again from where it was published, and check the network; nothing was kept."
        raise CommandRefused("hub_notice_void", message, issues=issues, next_action=next_action)


def shown_by(api: ApiClient) -> tuple[HubNotice, ...]:
    """What an API shows, none of it proven. A release before this one shows nothing."""
    found = api.get("/api/deployment").read(Deployment).hub_notices
    if len(found) > MOST_NOTICES:
        raise api.peer.malformed(f" answered more than {MOST_NOTICES} notices about the Hub.")
    return found


def parse_notice(data: bytes) -> HubNotice:
    """A notice as it is published; ``ValueError`` for anything else."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"at most {MOST_BYTES} bytes")
    return read(HubNotice, read_json(data))


def _why_void(chain: ChainClient, notice: HubNotice) -> list[Issue]:
    """Why no endpoint bears a notice out; none where one of them does."""
    issues = _by(chain, chain, notice)
    if issues and all(issue.path in {"signer", "signature"} for issue in issues):  # the chain's word, not the notice's
        return issues if all(_by(chain, other, notice) for other in chain.further) else []
    return issues


def _by(chain: ChainClient, endpoint: ChainClient, notice: HubNotice) -> list[Issue]:
    with chain_errors():
        return why_void(endpoint.hub, chain.chain_id, notice, _now(chain))


def _now(chain: ChainClient) -> UnixSeconds:
    """By this machine's clock, so that no endpoint ends a notice; by the chain's where its time is moved by hand."""
    return chain.latest().time if chain.settings.has_moved_time() else UnixSeconds(int(time.time()))


def _kept(chain: ChainClient) -> Iterator[HubNotice]:
    """What this machine knows; what is over is removed."""
    folder = state_directory() / f"{chain.chain_id}-{chain.hub.address}" / "notices"
    now = _now(chain)
    for path in sorted(folder.glob("0x*.json")):
        try:
            with open_regular(path) as file:
                notice = parse_notice(file.read(MOST_BYTES + 1))
        except (OSError, ValueError, RecursionError):
            warn(f"warning: the notice about the Hub that is kept in {path} cannot be read, and is passed over")
            continue
        if notice.expires_at <= now:
            path.unlink(missing_ok=True)
        else:
            yield notice


def _remember(chain: ChainClient, notice: HubNotice) -> None:
    """Keep a proven notice; on disk before this returns."""
    folder = state_directory() / f"{chain.chain_id}-{chain.hub.address}" / "notices"
    path = folder / f"{notice.signer}.json"
    text = json.dumps(to_json(notice))
    try:
        if path.read_text(encoding="utf-8") == text:
            return
    except (OSError, ValueError):
        pass
    private_file(folder, "lock").close()
    draft = folder / f"{notice.signer}.{os.getpid()}.new"
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
