"""Rubric 1 and 2: criteria that two people would decide the same way, and deliverables that are named."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.patterns import Pattern
from bounty_protocol.readiness.reading import Reading
from bounty_protocol.readiness.rule import Example, Rule

_SUBJECTIVE: Final = Pattern(
    r"\b(good|great|nice|best|better|decent|acceptable|reasonabl[ey]|sufficient(ly)?|appropriate(ly)?|adequate(ly)?"
    r"|professional(ly)?|clean(ly)?|elegant(ly)?|beautiful(ly)?|modern|intuitive(ly)?|robust(ly)?|scalable|reliabl[ey]"
    r"|high[- ]quality|quality|polished|smooth(ly)?|seamless(ly)?|graceful(ly)?|responsive(ly)?|performant"
    r"|efficient(ly)?|optimi[sz]ed|maintainable|readable|easy|easily|simple|user[- ]friendly|comprehensive(ly)?"
    r"|thorough(ly)?|complete(ly)?|proper(ly)?|correct(ly)?|well|quick(ly)?|fast(er)?|secure(ly)?|safe(ly)?"
    r"|significant(ly)?|substantial(ly)?"
    r"|engaging|convinc(es|ing)|creative|impressive|innovative|attractive|amazing|cool|fun|fancy|sensible|meaningful"
    r"|relevant|suitable|state[- ]of[- ]the[- ]art|production[- ](ready|grade)|world[- ]class|best practices?"
    r"|helpful|useful|sounds? human|human[- ]like|natural(ly)?|viral|addictive|top[- ]notch|first[- ]class|on par"
    r"|strong(ly)?|pretty|stable|stylish|catchy|compelling|aesthetic(ally)?"
    r"|accurate(ly)?|consistent(ly)?|flawless(ly)?|perfect(ly)?|premium|as \w+ as possible"
    r"|as (needed|appropriate|expected)|etc|and so on|and more|edge cases|where possible|if possible|ideally)\b",
)
_DISCRETION: Final = Pattern(
    r"\b(we|i|our team|the (poster|client|team|jury|owner|ceo))\b.{0,40}\b(like|prefer|choose|decide|pick|love"
    r"|(are|am|is) (happy|satisfied|pleased))\b|\b(at|in) (our|my) (sole |own )?(discretion|opinion|judge?ment)\b"
    r"|\bto (our|my) (full |complete )?(satisfaction|liking|taste)\b",
)
_ANCHOR: Final = Pattern(
    r"\d|`[^`]+`|\b[\w-]+\.[a-z]{1,5}\b|\b(exits?|exit code|raises?|prints?|returns?|equals?|identical|byte for byte"
    r"|character for character|same \S+( \S+){0,3} as|differs?|validates?|compiles?|builds?|succeeds?|pass(es)?|exactly"
    r"|refused|rejected|rejects?|refuses?|accepted|each of the|every|none|no (error|warning|crash|two)s?"
    r"|without (an? )?(error|warning|exception|crash)\w*|listed (below|above)|in the (list|table)|named)\b",
)
_CHECKABLE: Final = Pattern(
    r"\b(each|all|both|no|not|never|nothing|nobody|only|than|same|at (least|most)|one|two|three|four|five|six"
    r"|seven|eight|nine"
    r"|ten|eleven|twelve|can|cannot|gives?|shows?|shown|displays?|displayed|contains?|holds?|lists?|opens?|creates?"
    r"|writes?|written|sends?|stores?|supports?|uses?|starts?|ends?|stops?|reads?|keeps?|removes?|deletes?|includes?"
    r"|accepts?|answers?|logs?|runs?|finds?|found|covers?|follow(s|ed)?|signed|served|visible|present|absent|empty"
    r"|reproduced?|installs?|works? (on|with|in|without))\b",
)
"""Words of a statement about something that can be looked at, as long as there is no opinion in it."""
_ENGLISH: Final = Pattern(r"\b(the|is|are|of|and|with|to|as|on|has)\b")
_GENERIC: Final = Pattern(
    r"(an?|all|and|any|app|application|are|assets|code|completed?|content|deliverables?|documentation|docs|else|entire"
    r"|everything|files?|final|for|full|fully|implementation|is|it|materials?|necessary|needed|of|our|product|project"
    r"|required|results?|runnable|software|solution|source|stuff|tested|tests|that|the|things?|this|to|whole|with|work"
    r"|working|your)"
)
_WORD: Final = Pattern(r"[\w'./-]{1,60}")
_FILE_NAMES: Final = frozenset({"makefile", "dockerfile", "readme", "license", "licence", "changelog"})

_VAGUE: Final = (
    "Two Guardians could disagree on whether this is met. Name what is run, counted, compared or inspected, and the "
    "result that passes."
)


def find_unmeasurable(reading: Reading) -> Iterator[Issue]:
    """Find criteria and deliverables that leave room for opinion."""
    for passage in reading.passages:
        if passage.path.startswith("acceptance_criteria"):
            if _DISCRETION.search(passage.text):
                yield passage.issue("Leaves the decision to personal taste. Say what can be checked instead.")
            elif _is_vague(passage.text):
                yield passage.issue(_VAGUE)
        elif passage.path.startswith("deliverables") and _is_generic(passage.text):
            yield passage.issue("Say what must be delivered: a file and its format, a document, a program.")


def _is_vague(text: str) -> bool:
    if _ANCHOR.search(text):
        return False
    if len(text.split()) < 4 or _SUBJECTIVE.search(text):
        return True
    return _ENGLISH.search(text) is not None and _CHECKABLE.search(text) is None


def _is_generic(text: str) -> bool:
    words = [found.words for found in _WORD.each(text.lower().rstrip(".!"))]
    if any("." in word or "/" in word or word in _FILE_NAMES for word in words) or "`" in text:
        return False
    return len(words) < 2 or all(_GENERIC.is_all_of(word) for word in words)


MEASURABLE: Final = Rule(
    name="measurable",
    point=1,
    check=find_unmeasurable,
    examples=(
        Example("acceptance_criteria", "Good quality code is delivered here.", "`pytest -q` ends with exit code 0."),
        Example(
            "acceptance_criteria",
            "We decide what we like best among the entries.",
            "Each of the ten files is listed.",
        ),
        Example("deliverables", "All the necessary code.", "A program `convert.py` for Python 3.11."),
    ),
)
