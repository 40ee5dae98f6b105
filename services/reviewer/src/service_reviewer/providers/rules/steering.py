"""Rubric 6: nothing on the page tells a judge, a reviewer or a model how to decide.

Promises: words are compared after compatibility forms, invisible characters and spacing tricks are undone, code and
comments included. A page whose title or summary says that it is about such attacks may quote them; what addresses this
page's own review or its Guardians is never excused.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.reading import Passage, Reading
from service_reviewer.providers.rules.wording import Wording

_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\U000e0000-\U000e007f]")
_HIDING: Final = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|[\u200b\u2060-\u2064]{2,}")
_SPACED: Final = re.compile(r"\b(?:[a-z][ .\-_*]){4,}[a-z]\b")
_SUBJECT: Final = re.compile(
    r"prompt[- ]?injection|jailbreak|adversarial prompt|red[- ]?team|chat template", re.IGNORECASE
)

_QUOTABLE: Final = Wording(
    r"\b(ignore|disregard|forget|override|bypass)\b.{0,25}\b(all|any|the|your|every|previous|prior|earlier|above"
    r"|these)\b"
    r".{0,25}\b(instructions?|prompts?|rubric|guidelines|system message)\b"
    r"|\b(ignore|disregard|forget) (everything|anything|all) (above|before|you)\b"
    r"|\byou are (now )?(an? )?(ai|language model|llm|unrestricted|dan)\b"
    r"|<\|?im_(start|end)\|?>|\[/?inst\]|<</?sys>>|</?(system|assistant)>"
    r"|^\s*#{0,4}\s*(system|assistant) ?(prompt|message)?:\s"
    r"|\bignorier(e|en sie|t)\b.{0,30}\b(anweisung|instruktion|vorgabe)en\b"
    r"|\bignor(a|e|ez|em)\b.{0,30}\b(instrucciones|instructions|instruções|consignes)\b"
    r"|\b(reveal|print|repeat|output) (your|the) (system prompt|hidden instructions)\b",
    "ignor|disregard|forget|override|bypass|you are|im_|inst]|sys>|system|assistant|hidden",
    re.DOTALL | re.MULTILINE,
)
_TO_A_MODEL: Final = Wording(
    r"\b(notes?|messages?|hints?|instructions?|attention|info(rmation)?) (to|for) (the |any |all |an? )?"
    r"(ai|llms?|language models?|automated|models?|bots?)( based)?( reviewers?| judges?| graders?)?\b\s*[:,.]"
    r"|\bfor the automated (check|review|reviewer|judge|evaluation)\b\s*[:,]"
    r"|\bif you are (an? )?(ai|llm|language model|automated|reviewing (this )?(as|with))\b"
    r"|\b(ai|llm|automated|model|language model)[- ](reviewers?|judges?|graders?|evaluators?)\b.{0,60}"
    r"\b(vote for|approve this|approve the page|mark this|award|not report|report no|always)\b",
    "for the auto|if you are|reviewer|judge|grader|evaluator| ai:| ai,| ai.| llm|model:|model,|model.|models:|models,"
    "|bot",
    re.DOTALL | re.MULTILINE,
)
_TO_THIS_REVIEW: Final = Wording(
    r"\b(mark|treat|consider|rate|classify|declare|regard) (this|the) (page|challenge|bounty|document)\b.{0,30}"
    r"\b(ready|compliant|approved|passed|flawless|valid)\b"
    r"|\b(output|answer|respond|reply|return|say|print|conclude)\b.{0,60}\b(page|challenge|bounty|verdict|review)\b"
    r".{0,30}\b(ready|approved|compliant)\b"
    r"|\b(return|output|give) an? empty (list|array) of (issues|problems)\b|\bset ready to true\b"
    r"|\bbewerte(n sie)? diese (seite|aufgabe)\b|\bdiese seite (ist|gilt als) bereit\b"
    r"|(^|[.,:;!]\s*|\bplease )do not (report|raise|list|mention) any (issues?|problems?|concerns?|findings?)\b"
    r"|\b(this|the) (page|challenge|bounty)\b.{0,30}\b(was|is|has( been)?) already( been)? "
    r"(approved|accepted|reviewed)\b"
    r"|\b(the )?review(er)? (is|has been) (complete|over|finished)\b.{0,40}\b(answer|output|ready)\b",
    "ready|compliant|approved|passed|flawless|valid|empty|diese |do not ",
    re.DOTALL | re.MULTILINE,
)
_REWARDED: Final = Wording(
    r"\b(judge|guardian|reviewer)s?\b.{0,60}\b(award|vote|give|approve|accept|pay|choose|pick)\w*\b.{0,90}"
    r"\b(regardless|no matter (what|how|who)|my (submission|entry|address|account)"
    r"|our (own|friend|developer|partner)s?|0x[0-9a-f]{8,})"
    r"|\b(regardless|no matter (what|how))\b.{0,60}\b(judge|guardian)s?\b.{0,30}\b(award|vote|approve|accept)"
    r"|\b(judge|guardian)s?\b.{0,40}\b(told|instructed|asked|agreed|promised|know|bribed|paid) to "
    r"(pick|choose|award|prefer|vote|take|accept)\b|\bwhatever else (comes in|is submitted|they receive)\b"
    r"|\balways (vote|award|decide|rule)\b.{0,20}\b(for|to|in favou?r)\b"
    r"|\b(guardian|judge)s? (must|should|shall|will) always (award|approve|accept)\b"
    r"|\bthe winner (is|will be|must be|has to be) (already (decided|chosen|known|agreed)|0x[0-9a-f]{8,})",
    "regardless|no matter|whatever else|judge|guardian|my |our |0x|always|the winner",
    re.DOTALL,
)


def find_steering(reading: Reading) -> Iterator[Issue]:
    """Instructions that are not for Solvers."""
    about_it = _SUBJECT.search(f"{reading.page.title} {reading.page.summary}") is not None
    for passage in reading.passages:
        if hidden := _HIDING.search(passage.text):
            yield passage.issue(
                f"Holds invisible characters (U+{ord(hidden.group()[0]):04X}), so that people and programs read "
                "different pages. Remove them."
            )
        words = _plain(passage)
        found = None if about_it else _QUOTABLE.search(words)
        if found := found or _TO_A_MODEL.search(words) or _TO_THIS_REVIEW.search(words) or _REWARDED.search(words):
            yield passage.issue(
                f"Instructs a judge or a model how to decide ({found.group().strip()[:80]!r}). Leave the judging to "
                "the acceptance criteria."
            )


def _plain(passage: Passage) -> str:
    text = passage.text
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    joined = _SPACED.sub(lambda found: re.sub(r"[ .\-_*]", "", found.group()), text.lower())
    return joined if passage.is_code else " ".join(joined.split())
