"""Events of ``env:allow``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from bounty_protocol.shapes import Note

from service_cli.ui.event import Event
from service_cli.ui.items import Field, Shown

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class AcceptedFile(Event):
    """The `.env` at `path` was accepted with the content whose SHA-256 is `digest`. `variables` are the names that
    this client takes from it, `differing` those that differ from the network's record."""

    EVENT: ClassVar[str] = "env_allow.accepted"
    path: str
    digest: Annotated[str, Note(pattern="^[0-9a-f]{64}$")]
    variables: tuple[str, ...]
    differing: tuple[str, ...]

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} You accepted {self.path} as it is; commands sign with what it sets."
        yield Field("Sets", ", ".join(self.variables))
        if differing := self.differing:
            yield Field("Differs", f"from the network's record: {', '.join(differing)}")
        yield Field("Content", self.digest, whole=True)


@dataclass(frozen=True, slots=True)
class RevokedFile(Event):
    """With `--revoke`: it is not accepted any more."""

    EVENT: ClassVar[str] = "env_allow.revoked"
    WHEN: ClassVar[str] = "with --revoke"
    path: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} {self.path} is not accepted any more: nothing is signed with it."
