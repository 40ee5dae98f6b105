"""The packages that the project is made with: each does its work in these rooms, and is in their images."""

import ast
import tomllib
from pathlib import Path
from typing import Final

import pytest

TOP: Final = Path(__file__).parents[2]
COMMON: Final = "libs/service_common/src/service_common"
ROOMS: Final = {
    "flask": ("services/api/src", "services/delivery/src", "services/reviewer/src", f"{COMMON}/web"),
    "rq": (COMMON,),
    "redis": (COMMON,),
    "web3": ("services/indexer/src", "deploy/hub", "deploy/local"),
    "eth_account": ("services/indexer/src", "cli/src", "deploy/hub"),
    "nacl": ("libs/bounty_protocol/src/bounty_protocol/crypto",),
    "marshmallow": (f"{COMMON}/web", "services/api/src"),
    "google.cloud.storage": ("services/api/src",),
    "nox": ("noxfile.py",),
    "pytest": ("tests",),
}
"""By the name that is imported: each of these rooms has a module that imports it."""
IMAGES: Final = {
    "flask": ("api", "delivery", "reviewer"),
    "rq": ("api", "indexer", "reviewer"),
    "redis": ("api", "indexer", "reviewer", "delivery"),
    "web3": ("indexer",),
    "eth-account": ("indexer",),
    "pynacl": ("delivery",),
    "marshmallow": ("api", "delivery", "reviewer"),
    "google-cloud-storage": ("api",),
}
"""By the distribution's name: these images carry it. The two that are missing run checks."""


def imported(room: str) -> set[str]:
    """The modules that a room imports, also within functions."""
    path = TOP / room
    found = set()
    for each in [path] if path.is_file() else path.rglob("*.py"):
        for node in ast.walk(ast.parse(each.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize(("package", "room"), [(name, room) for name, rooms in ROOMS.items() for room in rooms])
def test_package_is_imported_in_its_room(package: str, room: str) -> None:
    assert any(name == package or name.startswith(f"{package}.") for name in imported(room))


@pytest.mark.parametrize(("package", "image"), [(name, image) for name, images in IMAGES.items() for image in images])
def test_package_is_in_the_images_of_its_rooms(package: str, image: str) -> None:
    pins = (TOP / f"requirements/images/{image}.txt").read_text(encoding="utf-8")
    assert f"\n{package}==" in f"\n{pins}"


def test_each_package_says_why_it_is_here() -> None:
    with (TOP / "requirements/reasons.toml").open("rb") as file:
        reasons = {name for each in tomllib.load(file)["dependency"] for name in each["packages"].split(", ")}
    assert {*IMAGES, "nox", "pytest"} <= reasons
