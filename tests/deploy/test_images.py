"""What the images hold, tried without building one: the same script makes the same environment in a folder.

By default for two services, delivery and one drawn by SERVICE_CAMPAIGN_SEED; for all in a campaign.
"""

import csv
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from local_stack.stack import StackSettings, running_stack

from tests.campaign import FULL, source
from tools.image_folders import FOLDERS, SERVICES

from .conftest import REPOSITORY

TRIED = (
    tuple(FOLDERS) if FULL else ("delivery", source("images").choice([each for each in FOLDERS if each != "delivery"]))
)
OWN = {"bounty-protocol"} | {f"service-{name}" for name in ("common", "cli", *FOLDERS)}
NOT_IN_ANY = {"pip", "setuptools", "nox", "uv", "pytest", "hypothesis", "mypy", "ruff", "hatchling", "pyrage"}
ONLY_IN = {
    "google-cloud-storage": {"api"},
    "graphql-core": {"api"},
    "openai": {"reviewer"},
    "eth-account": {"indexer", "mcp"},
    "nh3": {"api"},
    "sqlalchemy": {"api", "delivery", "indexer", "reviewer"},
    "psycopg": {"api", "delivery", "indexer", "reviewer"},
}
LISTING = """
import importlib.metadata, json
print(json.dumps([distribution.metadata["Name"].lower() for distribution in importlib.metadata.distributions()]))
"""


@pytest.fixture(scope="session")
def images() -> dict[str, Path]:
    """The environment of each service, made as the Dockerfile makes it; kept until what it is made of changes."""
    made = {service: REPOSITORY / ".local/images" / service for service in TRIED}
    folder = made["delivery"].parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for service, prefix in made.items():
            stamp, wanted = prefix / "made-for", digest(service)
            if stamp.exists() and stamp.read_text() == wanted:
                continue
            shutil.rmtree(prefix, ignore_errors=True)
            install(service, prefix)
            stamp.write_text(wanted)
    return made


def install(service: str, prefix: Path) -> None:
    """As the Dockerfile does it."""
    path = f"{REPOSITORY / '.noxw' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert shutil.which("uv", path=path), "uv comes with noxw"
    command = [str(REPOSITORY / "deploy/images/install.sh"), FOLDERS[service], str(prefix)]
    # As noxfile.py does: whom the system trusts.
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable, "UV_SYSTEM_CERTS": "1"}
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True, capture_output=True, timeout=300)


def files_of(prefix: Path) -> dict[str, str]:
    """Each file below a folder by its name, as a digest of its bytes or where it points."""
    found = {}
    for file in sorted(prefix.rglob("*")):
        if file.is_symlink():
            found[str(file.relative_to(prefix))] = f"to {file.readlink()}"
        elif file.is_file():
            found[str(file.relative_to(prefix))] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def digest(service: str) -> str:
    """Of everything an image is made of."""
    found = hashlib.sha256(str(REPOSITORY).encode() + sys.version.encode())
    for name in ("deploy/images", "requirements/images", "libs", "cli/src", FOLDERS[service]):
        for file in sorted((REPOSITORY / name).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                found.update(str(file.relative_to(REPOSITORY)).encode() + file.read_bytes())
    return found.hexdigest()


def installed(prefix: Path) -> set[str]:
    done = subprocess.run([prefix / "bin/python", "-I", "-c", LISTING], check=True, capture_output=True, text=True)
    return {re.sub(r"[-_.]+", "-", name) for name in json.loads(done.stdout)}


@pytest.mark.nightly
@pytest.mark.parametrize("service", TRIED)
def test_image_holds_its_own_packages_and_no_tool(images: dict[str, Path], service: str) -> None:
    found = installed(images[service])
    libraries = {"bounty-protocol", "service-common"} if service in SERVICES else set()
    assert found & OWN == {*libraries, f"service-{service}"}
    assert found & NOT_IN_ANY == set()
    assert {name for name, where in ONLY_IN.items() if name in found and service not in where} == set()


@pytest.mark.nightly
@pytest.mark.parametrize("service", TRIED)
def test_image_has_no_file_of_two_packages(images: dict[str, Path], service: str) -> None:
    """Which of them is written last would differ from build to build."""
    owners = Counter[Path]()
    for record in images[service].glob("lib/python*/site-packages/*.dist-info/RECORD"):
        named = (record.parent.parent / line[0] for line in csv.reader(record.read_text(encoding="utf-8").splitlines()))
        owners.update(file.resolve() for file in named if file.exists())
    assert len(owners) > 500
    assert [file for file, count in owners.items() if count > 1] == []


@pytest.mark.nightly
def test_image_made_again_is_the_same_to_the_byte(tmp_path: Path) -> None:
    prefix, first = tmp_path / "service", dict[str, str]()
    for _ in range(2):
        install("delivery", prefix)
        found = files_of(prefix)
        assert found == (first or found)
        first = found
        shutil.rmtree(prefix)
    sources = {name for name in found if re.search(r"/site-packages/(service|bounty)_.*\.py$", name)}
    compiled = {
        re.sub(r"__pycache__/(.*)\.cpython-\d+\.pyc$", r"\1.py", name) for name in found if name.endswith(".pyc")
    }
    assert len(sources) > 100
    assert sources - compiled == set()


@pytest.mark.nightly
@pytest.mark.parametrize("service", TRIED)
def test_image_without_configuration_says_what_lacks(images: dict[str, Path], service: str) -> None:
    program = images[service] / "bin" / f"service-{service}"
    words, missing = {
        "mcp": (["--http", "127.0.0.1:8080"], "SERVICE_HUB_ADDRESS"),
        "audit": (["--watch"], "name the chain by --rpc and --hub"),
        "delivery": (["serve"], "SERVICE_DATABASE_URL is not set"),
    }.get(service, (["worker"], "SERVICE_DATABASE_URL is not set"))
    done = subprocess.run([program, *words], env={}, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (1 if service == "mcp" else 2)
    assert missing in done.stderr


@pytest.mark.nightly
def test_stack__of_what_the_images_hold__is_ready(images: dict[str, Path]) -> None:
    programs = {f"service-{service}": prefix / "bin" for service, prefix in images.items() if service in SERVICES}
    with running_stack(StackSettings(programs=programs)) as stack:
        for name, running in stack.services.items():
            assert running.is_ready(), name
            image = images.get(running.process.command[0].removeprefix("service-"))
            used = Path(f"/proc/{running.child.pid}/cmdline").read_bytes().split(b"\0") if running.child else []
            assert image is None or any(str(image).encode() in each for each in used)


# ---------------------------------------------------------------- the Dockerfile and the pins


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, in order."""
    text = (REPOSITORY / "deploy/images/Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(word, rest) for line in lines if line for word, _, rest in (line.partition(" "),)]


@pytest.mark.nightly
@pytest.mark.parametrize("service", TRIED)
def test_image__of_a_service__starts_its_one_program(images: dict[str, Path], service: str) -> None:
    entry = tomllib.loads((REPOSITORY / FOLDERS[service] / "pyproject.toml").read_text())["project"]["scripts"]
    assert [str((images[service] / "bin/service").readlink())] == list(entry)


def pins(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE))


@pytest.mark.parametrize("name", [*FOLDERS, "build"])
def test_pins_of_an_image_are_the_tested_ones(name: str) -> None:
    file = REPOSITORY / f"requirements/images/{name}.txt"
    tested, wanted = pins(REPOSITORY / "requirements/constraints.txt"), pins(file)
    assert wanted
    assert {package: version for package, version in wanted.items() if tested.get(package) != version} == {}
    text = file.read_text(encoding="utf-8")
    assert "://" not in text
    assert text.count("==") <= text.count("--hash=sha256:")


@pytest.mark.parametrize("service", TRIED)
def test_pins_of_an_image_cover_its_packages(service: str) -> None:
    own = tomllib.loads((REPOSITORY / FOLDERS[service] / "pyproject.toml").read_text())["project"]["dependencies"]
    declared = [*own]
    for name in ("bounty_protocol", "service_common") if service in SERVICES else ():
        library = tomllib.loads((REPOSITORY / f"libs/{name}/pyproject.toml").read_text())["project"]
        declared += library["dependencies"]
        extras = re.search(rf"{name.replace('_', '-')}\[(.*?)\]", " ".join(own))
        for extra in extras[1].split(",") if extras else []:
            declared += library["optional-dependencies"][extra]
    names = {re.match(r"[A-Za-z0-9._-]+", each)[0].lower() for each in declared} - OWN  # type: ignore[index]
    assert names - set(pins(REPOSITORY / f"requirements/images/{service}.txt")) == set()
