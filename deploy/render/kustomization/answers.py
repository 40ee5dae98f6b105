"""An operator's answers: the settings of an overlay that only the operator knows, in one file of ``KEY=value`` lines.

``read_answers`` takes a file whole or refuses it with one sentence for each line that is wrong, before anything is
rendered. Secrets have no place in it: they are Secrets of the cluster.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.x25519 import parse_recipient
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import parse_address
from service_common.storage_settings import parse_bucket
from service_common.web.settings import parse_public_host

from kustomization.render import Object, containers
from kustomization.unset import OWN_IMAGES

REGISTRY: Final = "IMAGE_REGISTRY"
NONE: Final = "none"
"""The answer for what a deployment does without."""
MOST_BYTES: Final = 64 * 1024
_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_LINE: Final = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)")
_SECRET: Final = re.compile(r"AGE-SECRET-KEY-|-----BEGIN|^(0x)?[0-9a-fA-F]{64}$|://[^/@]*:[^/@]*@")


class AnswersError(Exception):
    """Everything that is wrong with a file of answers, a sentence a line."""


@dataclass(frozen=True, slots=True)
class OperatorQuestion:
    """A setting that has no value of its own in an overlay."""

    about: str
    """For the template: what it is, and where one gets it."""
    check: Callable[[str], object]
    """``ValueError`` or ``ServiceError`` says what is wanted."""
    is_optional: bool = False
    """Whether ``none`` is an answer."""


def _block(text: str) -> None:
    if re.fullmatch(r"[1-9][0-9]{0,17}", text) is None:
        raise ValueError("the number of a block")


def _prefix(text: str) -> None:
    if _PREFIX.fullmatch(text) is None or not {".", ":"} & set(text.partition("/")[0]):
        raise ValueError("a registry and a path in it, such as registry.your.org/bounty-escrow, without https://")


def _recipients(text: str) -> None:
    for each in text.split(","):
        parse_recipient(each)


QUESTIONS: Final[Mapping[str, OperatorQuestion]] = {
    "SERVICE_PUBLIC_HOST": OperatorQuestion(
        "The one public host, the audience of every signature: it never changes.", parse_public_host
    ),
    "SERVICE_HUB_ADDRESS": OperatorQuestion("The Hub, as ./noxw -s deploy_hub printed it.", parse_address),
    "SERVICE_DEPLOY_BLOCK": OperatorQuestion("The block of its deployment, printed beside it.", _block),
    "SERVICE_STORAGE_BUCKET": OperatorQuestion("The bucket of the ciphertexts (see deploy/storage).", parse_bucket),
    "SERVICE_BACKUP_BUCKET": OperatorQuestion("The bucket that encrypted dumps are copied to.", parse_bucket),
    "SERVICE_BACKUP_RECIPIENTS": OperatorQuestion(
        "The age recipients (age1…) that open the dumps, separated by commas: your own, and the restore test's.",
        _recipients,
    ),
    REGISTRY: OperatorQuestion(
        "Where your images are, before their names; none where --images names them (by digest).",
        _prefix,
        is_optional=True,
    ),
}
"""What every overlay asks; whatever else stands in one of its ConfigMaps may be answered, too."""


def template(name: str, objects: Iterable[Object]) -> str:
    """A file to fill in for this overlay, with what it has already as comments."""
    lines = [f"# Answers for ./noxw -s manifests -- {name} --answers FILE: one KEY=value a line, and no secret.", ""]
    for key, question in QUESTIONS.items():
        lines += [f"# {question.about}", f"{key}=", ""]
    lines.append("# These have a value already; a line without the # changes it.")
    lines += [f"# {key}={value}" for key, value in sorted(_settings(objects).items()) if key not in QUESTIONS]
    return "\n".join(lines) + "\n"


def read_answers(path: Path, objects: Iterable[Object]) -> dict[str, str]:
    """The answers for an overlay with these objects, each in the form that its setting takes."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise AnswersError(f"{path} has more than {MOST_BYTES} bytes")
    known, problems, found = {**_settings(objects), REGISTRY: ""}, list[str](), dict[str, str]()
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not (text := line.strip()) or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            problems.append(f"line {number}: not of the form KEY=value")
            continue
        key, value = match[1], match[2].strip()
        problem = _problem(key, value, known, found)
        if problem is not None:
            problems.append(f"line {number}: {problem}")
        found[key] = value
    problems += [f"{key} is not answered: {QUESTIONS[key].about}" for key in QUESTIONS if not found.get(key)]
    if problems:
        raise AnswersError("\n".join(problems))
    return found


def _problem(key: str, value: str, known: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """A sentence on what is wrong with one line; it never repeats a value, which may be a secret."""
    if _SECRET.search(value) and not value.startswith("age1"):
        return f"{key} looks like a secret, which belongs into a Secret of the cluster"
    if key not in known:
        near = difflib.get_close_matches(key, known, 1)
        return f"{key} is no setting of this overlay" + (f"; is it {near[0]}?" if near else "")
    if key in found:
        return f"{key} is answered twice"
    return _unfit(key, value, QUESTIONS.get(key)) if value else None


def _unfit(key: str, value: str, question: OperatorQuestion | None) -> str | None:
    if value == NONE:
        is_fit = question is not None and question.is_optional
        return None if is_fit else f"{key} cannot be done without"
    if question is None:
        return None
    try:
        question.check(value)
    except (ValueError, ServiceError) as error:
        return f"{key} is not as it has to be: {error}"
    return f"{key} is still an example" if value.endswith(".example") else None


def _settings(objects: Iterable[Object]) -> dict[str, str]:
    """Every setting of the service that stands in a ConfigMap."""
    maps = (each["data"] for each in objects if each["kind"] == "ConfigMap")
    return {key: value for data in maps for key, value in data.items() if key.startswith("SERVICE_")}


def settle(objects: list[Object], answers: Mapping[str, str]) -> None:
    """Apply what an answer means beyond its setting: the images' registry."""
    registry = answers.get(REGISTRY, NONE)
    for each in objects:
        for container in containers(each):
            if registry != NONE and container["image"].startswith(OWN_IMAGES):
                container["image"] = f"{registry}/{container['image']}"


def values_of(answers: Mapping[str, str]) -> dict[str, str]:
    """The settings as their ConfigMaps have them."""
    return {key: "" if value == NONE else value for key, value in answers.items() if key != REGISTRY}
