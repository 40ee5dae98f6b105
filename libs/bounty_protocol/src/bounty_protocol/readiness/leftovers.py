"""Rubric 5, what is left open: placeholders, template text, promises of text that is not there yet."""

from collections.abc import Iterator, Sequence
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.patterns import Pattern, each_of, first_of, found_in
from bounty_protocol.readiness.reading import Passage, Reading
from bounty_protocol.readiness.rule import Example, Rule

MIN_BODY_WORDS: Final = 30

_PLACEHOLDERS: Final = (
    Pattern(
        r"\b(?:TBD|TBA|FIXME|TODO)\b",
        not_after="[\"'“‘`]",
        not_before="[\"'”’`]| (?:list|app|apps|item|items|comment|comments|marker|markers|box|boxes|tag|tags|file|note"
        r"|notes|manager|s\b)",
    ),
    Pattern(r"\?\?\?", not_after=r"\S", not_before=r"\S"),
    Pattern(r"\blorem ipsum\b", not_before=" (?:generator|text generator|placeholder|library|plugin)"),
    Pattern(
        r"\bto be (?:determined|decided|announced|confirmed)\b",
        not_before=" by (?:you|the (?:solver|participant|submission)|whoever)",
    ),
    Pattern(
        r"\b(?:is|are) still (?:open|unclear|undecided|being (?:decided|discussed))\b", not_before=" (?:for|to|until)"
    ),
    Pattern(
        r"\bXXX\b"
        r"|\bcoming soon\b|\b(?:details|texts?|more|specs?|description|examples?) (?:will |to )follow\b"
        r"|<(?:your|insert|fill|another|title)\b[^<>]{0,200}>|<[a-z][^<>=/:@ ]{0,60} [^<>=/:@]{0,200}>"
        r"|\[(?:your|insert|fill|add|enter|put)\b[^\]]{0,200}\]|\{\{[^}]{0,200}\}\}|\bWIP\b"
        r"|\bstill (?:to be )?(?:writing|being written|working on|written|missing|under construction)\b"
        r"|\b(?:is|are) (?:not yet|still not) (?:written|finished|final|decided|defined|agreed)\b"
        r"|\bunder construction\b"
        r"|\b(?:remove|delete) this (?:paragraph|line|section)\b"
        r"|\bdo not publish(?: this)? yet\b|\bnot (?:yet )?ready to (?:be )?publish"
    ),
)
_BLANK: Final = "____"
_SHOUTED: Final = frozenset({"TBD", "TBA", "FIXME", "TODO", "XXX", "WIP"})
"""Words that are placeholders only in capitals."""
_PROMISED: Final = Pattern(
    r"\b(we|i)('ll| will| can| are going to) (send|share|provide|add|describe|publish|explain|announce|upload|define|"
    r"specify|decide|deliver)\b[^.]{0,60}\b(later|soon|here|afterwards|next (week|month)|separately|in due course|"
    r"after (the |your )?(start|submission|application))\b"
    r"|\bcan (send|share|provide) (it|them|this|that) (later|soon)\b",
)


def find_leftovers(reading: Reading) -> Iterator[Issue]:
    """Find the parts still to be written."""
    if len(reading.page.body.split()) < MIN_BODY_WORDS:
        yield Issue(
            "body", f"Describes the challenge in fewer than {MIN_BODY_WORDS} words. Say what is needed and why."
        )
    placeholders, promises = found_in(_PLACEHOLDERS, reading.all_prose), found_in([_PROMISED], reading.all_prose)
    for passage in reading.prose:
        if not passage.prose.lstrip().startswith("<!--"):
            yield from _placeholders(passage, placeholders)
        for at, sentence in passage.sentences:
            if found := first_of(promises, sentence):
                yield passage.issue(
                    f"Promises something for later ({found.words[:80]!r}). Everything that counts must be on the "
                    "page now, since its bytes are fixed: write it out or remove it.",
                    at + found.start,
                )


def _placeholders(passage: Passage, placeholders: Sequence[Pattern]) -> Iterator[Issue]:
    seen = set()
    if (at := passage.prose.find(_BLANK)) >= 0:
        yield passage.issue("Holds a blank to fill in ('____'). Replace it with the final text.", at)
    for found in each_of(placeholders, passage.prose):
        word = found.words
        if (word.upper() in _SHOUTED and word not in _SHOUTED) or word in seen:
            continue
        seen.add(word)
        yield passage.issue(f"Holds the placeholder {word[:60]!r}. Replace it with the final text.", found.start)


LEFTOVERS: Final = Rule(
    name="leftovers",
    point=5,
    check=find_leftovers,
    examples=(
        Example("body", "The format is TBD.", "The TODO list of the old tool is not part of this."),
        Example("body", "The name is ____.", "Names with one _ are kept."),
        Example("body", "We will publish the weights here later.", "We publish the weights here."),
    ),
)
