"""Events of ``env:allow``."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bounty_protocol.shapes import Note

from service_cli.ui.event import Event


@dataclass(frozen=True, slots=True)
class AcceptedFile(Event):
    """The `.env` at `path` was accepted with the content whose SHA-256 is `digest`. `variables` are the names that
    this client takes from it, `differing` those that differ from the network's record."""

    EVENT: ClassVar[str] = "env_allow.accepted"
    SAYS: ClassVar[str] = "Done. You accepted {path} as it is: commands sign with what it sets."
    path: str
    digest: Annotated[str, Note(pattern="^[0-9a-f]{64}$")]
    variables: tuple[str, ...]
    differing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RevokedFile(Event):
    """With `--revoke`: it is not accepted any more."""

    EVENT: ClassVar[str] = "env_allow.revoked"
    WHEN: ClassVar[str] = "with --revoke"
    SAYS: ClassVar[str] = "Done. {path} is not accepted any more: nothing is signed with it."
    path: str
