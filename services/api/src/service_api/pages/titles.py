"""Titles and challenges of strangers, as they may be shown."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import ChallengePage, parse_challenge
from bounty_protocol.domain.challenge.readable import readable_line
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32
from bounty_protocol.wire.withheld import Withheld
from markupsafe import Markup

from service_api.pages.markdown import as_text, render, render_line


@dataclass(frozen=True, slots=True)
class Title:
    """A bounty in a list. ``title`` None: its page cannot be shown."""

    title: str | None
    summary: str = ""
    tags: tuple[str, ...] = ()
    withheld: Withheld | None = None
    """Why there is none, where the operator does not show the page."""


NO_TITLE: Final = Title(None)


def stated_title(
    title: str | None, summary: str | None, tags: Iterable[str] | None, withheld: Withheld | None
) -> Title:
    """Return what a list shows of a page; for a withheld one only the reason."""
    if withheld is not None or title is None:
        return Title(None, withheld=withheld)
    return Title(readable_line(title), readable_line(summary or ""), tuple(tags or ()))


@dataclass(frozen=True)
class Challenge:
    """Verified bytes, and what they say where they are a page. What is drawn of them is drawn once."""

    content: bytes
    page: ChallengePage | None
    """None if the bytes are the committed ones and not in the form of a page."""

    @property
    def title(self) -> Title:
        """For the head of its page."""
        page = self.page
        return NO_TITLE if page is None else stated_title(page.title, page.summary, page.tags, None)

    @cached_property
    def body(self) -> Markup:
        """The rendered body; the bytes as text if they are not a page."""
        return as_text(self.content) if self.page is None else render(self.page.body)

    @property
    def criteria(self) -> tuple[Markup, ...]:
        """Acceptance criteria, rendered."""
        return () if self.page is None else tuple(render_line(each) for each in self.page.acceptance_criteria)

    @property
    def deliverables(self) -> tuple[Markup, ...]:
        """Deliverables, rendered."""
        return () if self.page is None else tuple(render_line(each) for each in self.page.deliverables)


def read_challenge(text: str | None, commitment: Bytes32) -> Challenge | None:
    """Return the challenge of a bounty; None if the text is not the committed bytes."""
    content = b"" if text is None else text.encode()
    if text is None or spec_commitment(content) != commitment:
        return None
    try:
        return Challenge(content, parse_challenge(content))
    except ServiceError:
        return Challenge(content, None)
