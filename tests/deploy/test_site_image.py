"""The image of the documents: what its definition leaves to a process that anyone may call, and what pages may load."""

import re
from pathlib import Path

import pytest

from .conftest import REPOSITORY

FOLDER = Path("deploy/images/site")
DOCKERFILE = (REPOSITORY / FOLDER / "Dockerfile").read_text(encoding="utf-8")
CADDYFILE = (REPOSITORY / FOLDER / "Caddyfile").read_text(encoding="utf-8")
SERVICES = (REPOSITORY / "deploy/images/Dockerfile").read_text(encoding="utf-8")


def steps(dockerfile: str, name: str) -> list[str]:
    """The arguments of each instruction of that name."""
    return re.findall(rf"(?m)^{name} (.*)$", dockerfile)


def policy() -> dict[str, list[str]]:
    """The sources that the content security policy allows, by directive."""
    (header,) = re.findall(r'Content-Security-Policy "(.*)"', CADDYFILE)
    return {name: sources.split() for name, _, sources in (each.strip().partition(" ") for each in header.split(";"))}


def test_image__of_the_documents__runs_as_the_services_do() -> None:
    assert steps(DOCKERFILE, "USER") == steps(SERVICES, "USER") == ["10001:10001"]
    assert steps(DOCKERFILE, "EXPOSE") == ["8080"]
    assert "setcap -r /usr/bin/caddy" in steps(DOCKERFILE, "RUN"), "it has to start where all capabilities are dropped"
    labels = r"org\.opencontainers\.image\.\w+"
    assert set(re.findall(labels, DOCKERFILE)) == set(re.findall(labels, SERVICES))


def test_server__of_the_documents__answers_files_only() -> None:
    for line in ("admin off", "auto_https off", ":8080 {", "file_server", "respond @other 405", "respond @hidden 404"):
        assert re.search(rf"(?m)^\t?{re.escape(line)}$", CADDYFILE), line
    used = set(re.findall(r"(?m)^\t+([a-z_]+)", CADDYFILE))
    assert not used & {"reverse_proxy", "php_fastcgi", "templates", "redir", "rewrite"}
    assert set(re.findall(r"(?m)^\t+file_server.*$", CADDYFILE)) == {"\tfile_server"}


def test_answers__of_the_documents__have_the_headers_whatever_they_are() -> None:
    (served, errors) = re.findall(r"(?m)^(\t+)import headers$", CADDYFILE)
    assert (len(served), len(errors)) == (1, 2)
    assert re.search(r"(?m)^\thandle_errors \{\n\t\timport headers$", CADDYFILE)


@pytest.mark.parametrize("directive", ["default-src", "frame-ancestors", "base-uri"])
def test_policy__of_the_documents__allows_nothing_that_a_page_does_not_use(directive: str) -> None:
    assert policy()[directive] == ["'none'"]


def test_policy__of_the_documents__loads_from_its_own_origin_alone() -> None:
    allowed = {source for sources in policy().values() for source in sources}
    assert allowed == {"'none'", "'self'", "'unsafe-inline'", "data:"}
