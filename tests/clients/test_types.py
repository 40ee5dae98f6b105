"""The types of the TypeScript client: test/types.ts accepts each public name, and none that is ``any``."""

import json
import re
from functools import cache
from typing import Any

import pytest

from tests.campaign import size
from tests.clients.package import PACKAGE, built, programs, run_node

STEP = size(36, 1)
"""Every how many-th public name is made ``any``; each takes seconds."""


@cache
def planted() -> dict[str, Any]:
    """The public names, those that were made ``any``, and those of which ``types.ts`` noticed nothing."""
    found: dict[str, Any] = json.loads(run_node(PACKAGE / "test/planted.mjs", programs(), STEP, timeout=600))
    return found


@pytest.mark.nightly
def test_types__with_a_name_that_is_any__are_refused() -> None:
    found = planted()
    assert found["planted"] == len(found["names"][::STEP]) > 2
    assert (found["without"], found["unnoticed"]) == ([], [])


@pytest.mark.nightly
def test_types__of_each_public_name__are_tested() -> None:
    text = (PACKAGE / "test/types.ts").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:client|types)\.(\w+)", text)) | {"FACTS"}
    assert set(planted()["names"]) - named == set()


def test_sources__of_pages_and_programs__assert_no_type_that_the_client_refuses() -> None:
    folders = ("src", "actions", "test")
    sources = [path for folder in folders for path in (PACKAGE / folder).rglob("*.ts")]
    assert len(sources) > 60
    doubted = re.compile(r"\bas (?:never|any)\b(?! \w)|\bas unknown as\b")
    assert [path.name for path in sources if doubted.search(code_of(path.read_text(encoding="utf-8")))] == []


def code_of(source: str) -> str:
    """Without comments and texts."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"|`[^`]*`", "", source, flags=re.DOTALL)


@pytest.mark.nightly
def test_names__of_the_package__have_a_comment_and_a_type_that_can_be_read() -> None:
    """What an editor shows of each. The three that name the whole ABI are as long as it is."""
    shown: dict[str, dict[str, Any]] = json.loads(run_node(built() / "test/documented.mjs"))
    assert len(shown) > 100
    assert [name for name, each in shown.items() if not each["comment"]] == []
    long = {name for name, each in shown.items() if each["letters"] > 1_200}
    assert long == {"hubAbi", "hubCall", "hubEvents"}
