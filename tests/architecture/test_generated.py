"""What is derived from code and committed is as the code makes it."""

import hashlib
import json

import pytest

from tools.generate import derived
from tools.generate.derived import Derived
from tools.generate.everything import DERIVED

CONTRACTS = derived.TOP / "contracts"


@pytest.mark.parametrize(
    "one", [pytest.param(one, id=one.name, marks=pytest.mark.nightly if one.name == "hub" else ()) for one in DERIVED]
)
def test_derived_files_are_those_that_the_code_makes(one: Derived) -> None:
    differing = [str(path.relative_to(derived.TOP)) for path, _ in one.differences()]
    assert differing == [], f"./noxw -s generate -- {one.name} writes them again"


@pytest.mark.parametrize("name", ["Hub", "SignatureValidator"])
def test_contract_artifacts_are_of_the_sources(name: str) -> None:
    artifact = json.loads((CONTRACTS / f"artifacts/{name}.json").read_text(encoding="utf-8"))
    for source, digest in artifact["sourceHashes"].items():
        assert hashlib.sha256((CONTRACTS / source).read_bytes()).hexdigest() == digest, source
