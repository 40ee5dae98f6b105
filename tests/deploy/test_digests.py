"""Images of others by digest: what is used is found, pinned where it stands, and refused while it is not."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tools.digests import COMPOSE, DOCKERFILE, FILES, SITE, UsedImage, of_kustomization, pin, used_images

from .conftest import REPOSITORY

DIGEST = "sha256:" + "ab" * 32


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for file in FILES:
        (tmp_path / file.parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / file, tmp_path / file)
    return tmp_path


def test_images__of_others__are_found_wherever_one_is_built_from_or_run() -> None:
    composed = yaml.safe_load((REPOSITORY / COMPOSE).read_text(encoding="utf-8"))["services"]
    others = [each["image"] for each in composed.values() if "service-" not in each["image"]]
    bases = []
    for file, name in ((DOCKERFILE, "PYTHON_IMAGE"), (SITE, "CADDY_IMAGE")):
        text = (REPOSITORY / file).read_text(encoding="utf-8")
        bases += re.findall(rf"(?m)^ARG {name}=(.*)$", text)
        built_from = set(re.findall(r"(?m)^FROM (\S+)", text))
        assert built_from == {f"${{{name}}}"}, "a base that is named elsewhere has no digest here"
    assert len(bases) == 2
    assert sorted(each.whole() for each in used_images(REPOSITORY)) == sorted([*bases, *others])


def test_pin__writes_each_digest_behind_its_tag_and_again_the_newer_one(copy: Path) -> None:
    before = [each.tagged for each in used_images(copy)]
    asked: list[str] = []

    def ask(tagged: str) -> str:
        asked.append(tagged)
        return DIGEST

    pinned = pin(copy, ask)
    assert len(asked) == len(set(asked)), "each is asked for once"
    assert [each.tagged for each in pinned] == before
    assert {each.digest for each in pinned} == {DIGEST}
    assert pin(copy, lambda _: DIGEST.replace("ab", "cd"))[0].digest == DIGEST.replace("ab", "cd")
    assert yaml.safe_load((copy / COMPOSE).read_text())["services"]["postgresql"]["image"].count("@") == 1
    images = yaml.safe_load("\n".join(of_kustomization(pinned)))
    assert {"name": "postgres", "newName": "postgres", "digest": DIGEST} in images


@pytest.mark.parametrize("answer", ["", "sha256:12", "latest", DIGEST + "\nx", f"{DIGEST} {DIGEST}"])
def test_pin__with_an_answer_that_is_no_digest__writes_nothing(copy: Path, answer: str) -> None:
    before = {file: (copy / file).read_bytes() for file in FILES}
    with pytest.raises(ValueError, match="no digest"):
        pin(copy, lambda _: answer)
    assert {file: (copy / file).read_bytes() for file in before} == before


def test_release__begins_with_the_check_and_builds_from_what_it_checked() -> None:
    jobs = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    first = next(step["run"] for step in jobs["pins"]["steps"] if "run" in step)
    assert first == "python3 tools/digests.py --check"
    assert "pins" in jobs["images"]["needs"]
    build = next(step["run"] for step in jobs["images"]["steps"] if "docker build" in step.get("run", ""))
    assert "PYTHON_IMAGE" not in build, "the base is the Dockerfile's own"
    assert {each["platform"] for each in jobs["images"]["strategy"]["matrix"]["include"]} == {"amd64", "arm64"}


def test_release__builds_the_documents_image_from_the_site_that_its_checks_made() -> None:
    jobs = yaml.safe_load((REPOSITORY / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    given, taken = (
        next(step["with"] for step in jobs[job]["steps"] if step.get("with", {}).get("name") == "documents")
        for job in ("checks", "images")
    )
    assert given["path"] == taken["path"] == ".local/site"
    assert given["include-hidden-files"], "what is below .local is hidden"
    assert "checks" in jobs["images"]["needs"]
    build = next(step["run"] for step in jobs["images"]["steps"] if "docker build" in step.get("run", ""))
    assert f"--file {SITE} " in build


def test_image__by_tag_alone__is_one_without_a_digest() -> None:
    assert UsedImage(COMPOSE, "postgres:18.1", None).whole() == "postgres:18.1"
    assert UsedImage(COMPOSE, "postgres:18.1", DIGEST).whole() == f"postgres:18.1@{DIGEST}"
