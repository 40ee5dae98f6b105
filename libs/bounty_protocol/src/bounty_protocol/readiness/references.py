"""Rubric 5, references: everything that the page points at is on the page, or public and fixed.

A number counts as missing only after it was looked for on the page; references into other documents ("section 4 of the
standard") are left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.patterns import Pattern, each_of, found_in
from bounty_protocol.readiness.reading import Passage, Reading
from bounty_protocol.readiness.rule import Example, Rule

_ATTACHED: Final = Pattern(
    r"\b(see|in|per|of|from|with|to|use|by) (the |our |my )?(attach(ed|ment|ments)|enclosed|annex|appendix)\b",
    not_before=" of| for",
)
_ENCLOSED: Final = Pattern(r"\b(the|our|my) (attached|enclosed) \w{1,40}|\b(is|are) attached\b")
_PRIVATE: Final = Pattern(
    r"\bas (we )?(discussed|agreed|talked about)\b",
    not_before=" (above|below|in (section|the (section|paragraph|text)))",
)
_AGREED: Final = Pattern(
    r"\b(discussed|agreed|mentioned|explained|told you)\b[^.]{0,20}\b(in|on|during|at|by|over)\b[^.]{0,12}"
    r"\b(calls?|meetings?|chats?|e-?mails?|discord|slack|telegram|phone)\b"
    r"|\b(was|were|has been|have been) (sent|shared|mailed|posted|distributed)\b[^.]{0,20}\b(by (e-?)?mail|around"
    r"|last (week|month)|on (slack|discord|(mon|tues|wednes|thurs|fri)day))\b"
    r"|\bper our (call|conversation|chat|e-?mail|meeting)\b",
)
_OUTSIDE: Final = Pattern(
    r"\b(requirements?|specifications?|specs?|criteria|details|instructions|brief|scope|task|description)\b[^.]{0,60}"
    r"\b(google docs?|google drive|notion|figma|dropbox|airtable|trello|jira|confluence|discord|telegram|slack|whatsapp"
    r"|wechat|dms?)\b"
    r"|\b(join|ask (in|on)|come to|look (in|at)) (our|the|my) (\w{1,40} )?(discord|slack|telegram|whatsapp|chat"
    r"|channel)\b",
)
_ON_REQUEST: Final = Pattern(
    r"\b(is|are|was|were)(n't| not) (included|shown|given|described|printed|listed|part of this page)\b[^.]{0,30}"
    r"\b(here|on this page|in this page|yet|but)\b"
    r"|\b(somebody|someone|we)( will|'ll| can) (send|give|mail|tell|show) (you|it|them)\b"
    r"|\b(dm|pm|message|e-?mail|mail|contact|write|ask|ping|text) (me|us)\b[^.]{0,40}\b(for|to get|to receive)"
    r" (the |an? |your |more )?(access|details|links?|files?|data|dataset|credentials|password|specs?"
    r"|specification|requirements|information|invite|instructions)\b",
)
_UNREACHABLE: Final = Pattern(
    r"\b(https?|ftp|wss?)://(localhost|127\.\d|0\.0\.0\.0|10\.\d{1,3}\.\d|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|\[::1\]"
    r"|[\w.-]{1,100}\.(local|internal|lan|intranet|corp)\b)|\bfile://",
)
_NUMBERED: Final = Pattern(
    r"\b(?P<kind>criterion|criteria|deliverable|section|chapter|table|figure|fig\.|screenshot) (?:no\.? ?"
    r"|number |#)?"
    r"(?P<number>\d{1,2})\b",
    not_after=", ",
    not_before=r"\.\d|\s{1,20}(?:of|in|from)\b|\s{0,20}%",
)
_BELOW: Final = Pattern(
    r"\b(?P<kind>table|image|screenshot|diagram|figure|photo|picture|drawing|sketch|mock-?up|wireframe) (below|above)\b"
    r"|\b(below|following) (?P<other>table|image|screenshot|diagram|drawing|picture|sketch|mock-?up|wireframe)\b",
)
_NUMBERED_HEADING: Final = Pattern(r"^\W{0,20}(?:(?:section|chapter) )?(?P<number>\d{1,2})\b")
_CAPTION: Final = Pattern(r"(?m)^\W{0,20}(?P<kind>table|figure|fig\.|screenshot) (?P<number>\d{1,2})\b")
_ELSEWHERE: Final = (
    ((_ATTACHED, _ENCLOSED), "which a page cannot carry. Put the content on the page."),
    ((_PRIVATE, _AGREED), "which nobody else was part of. Write out what was agreed."),
    ((_OUTSIDE,), "where it can change and not everyone can see it. Put everything that is judged on the page."),
    ((_ON_REQUEST,), "which a reader of the page does not have. Put everything that is judged on the page."),
    ((_UNREACHABLE,), "which others cannot reach. Put the content on the page, or give a public address."),
)
_UNDEFINED_LINK: Final = Pattern(r"\[[^\[\]]{3,80}\]\[[^\[\]]{0,40}\]", not_after=r"[\w\]`]")
_OUTER: Final = Pattern(r"^([a-z][a-z0-9+.-]*:|//)")


def find_dangling(reading: Reading) -> Iterator[Issue]:
    """Find references to things that a reader of the page cannot see."""
    labels = _Labels.of(reading)
    elsewhere = [(found_in(patterns, reading.all_prose), advice) for patterns, advice in _ELSEWHERE]
    appended = any("appendix" in heading.lower() or "annex" in heading.lower() for heading in reading.headings)
    for passage in reading.prose:
        flat = passage.prose.replace("\n", " ")
        yield from _elsewhere(passage, flat, elsewhere, appended=appended)
        yield from _numbers(reading, passage, flat, labels)
    yield from _links(reading)


def _elsewhere(
    passage: Passage, flat: str, elsewhere: Sequence[tuple[Sequence[Pattern], str]], *, appended: bool
) -> Iterator[Issue]:
    for patterns, advice in elsewhere:
        for found in each_of(patterns, flat):
            if not (appended and "appendix" in found.words.lower()):
                yield passage.issue(f"Refers to {found.words[:80]!r}, {advice}", found.start)
    for found in _UNDEFINED_LINK.each(flat):
        yield passage.issue(f"Holds the link {found.words[:80]!r} without its address. Add it.", found.start)


def _numbers(reading: Reading, passage: Passage, flat: str, labels: "_Labels") -> Iterator[Issue]:
    for found in _NUMBERED.each(flat):
        wanted = (found["kind"].lower(), int(found["number"]))
        if not labels.hold(reading, *wanted):
            yield passage.issue(
                f"Refers to {found.words[:60]!r}, which is not on the page. Correct the number, or add it.",
                found.start,
            )
    for found in _BELOW.each(flat):
        kind = (found["kind"] or found["other"]).lower()
        if (reading.tables if kind == "table" else reading.images) == 0:
            yield passage.issue(
                f"Refers to {found.words[:60]!r}, but the page has none. Add it, or describe it in words.",
                found.start,
            )


@dataclass(frozen=True, slots=True)
class _Labels:
    """The numbers that are on the page: of headings ("2. Format"), and of what has a caption ("Table 3: ...")."""

    headings: frozenset[int]
    captions: frozenset[tuple[str, int]]

    @staticmethod
    def of(reading: Reading) -> "_Labels":
        headings = (_NUMBERED_HEADING.search(heading) for heading in reading.headings)
        captions = (found for passage in reading.passages for found in _CAPTION.each(passage.text))
        return _Labels(
            frozenset(int(found["number"]) for found in headings if found is not None),
            frozenset((found["kind"].lower(), int(found["number"])) for found in captions),
        )

    def hold(self, reading: Reading, kind: str, number: int) -> bool:
        """Return whether the page contains what the reference names."""
        page = reading.page
        if kind in {"criterion", "criteria"}:
            return number <= len(page.acceptance_criteria)
        if kind == "deliverable":
            return number <= len(page.deliverables)
        if kind in {"section", "chapter"}:
            return number <= len(reading.headings) or number in self.headings
        if kind == "table" and number <= reading.tables:
            return True
        return number <= reading.images or (kind, number) in self.captions


def _links(reading: Reading) -> Iterator[Issue]:
    anchors = {_anchor(heading) for heading in reading.headings}
    for passage, href in reading.links:
        if href.startswith("#"):
            if href[1:].lower() not in anchors:
                yield passage.issue(f"Links to {href[:80]!r}, a heading that is not on the page. Correct the link.")
        elif not href:
            yield passage.issue("Holds a link without an address. Fill it in, or remove it.")
        elif not _OUTER.search(href):
            yield passage.issue(
                f"Links to the file {href[:80]!r}, which a page cannot carry. Put the content on the page, or give a "
                "public address."
            )


def _anchor(heading: str) -> str:
    words = "".join(one for one in heading.lower() if one.isalnum() or one.isspace() or one in "_-")
    return "".join("-" if one.isspace() else one for one in words.strip())


REFERENCES: Final = Rule(
    name="references",
    point=5,
    check=find_dangling,
    examples=(
        Example("body", "For the format see the attachment.", "For the format see above."),
        Example("body", "For the format use our appendix.", "# Appendix\n\nFor the format use our appendix."),
        Example("body", "See [the format][].", "The cell is rows[number][column]."),
        Example("body", "See [the format](#the-format).", "# The format\n\nSee [above](#the-format)."),
        Example("body", "See [the format]().", "See `[the format]()`."),
        Example("body", "See deliverable 9.", "See deliverable 1."),
        Example("body", "See table 2.", "See table 1.\n\n| a | b |\n|---|---|\n| 1 | 2 |"),
        Example("body", "As discussed on Slack, skip those.", "As discussed above, skip those."),
        Example("body", "Requirements are in our Notion.", "The tool imports from Notion."),
        Example("body", "See criterion 9.", "Section 4 of the standard says which bytes are allowed."),
        Example("body", "The layout is shown in the drawing below.", "The layout is free."),
        Example(
            "body",
            "It is described in [the file](./spec.md).",
            "It is described in [the RFC](https://www.rfc-editor.org/rfc/rfc3339).",
        ),
    ),
)
