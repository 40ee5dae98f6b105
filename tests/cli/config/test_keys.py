"""Keys: files they come from are read within bounds, and no key leaves with what is sealed, published or sent."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from bounty_protocol.crypto.x25519 import Identity
from service_cli.config.environment import Environment
from service_cli.config.keys import secrets_among
from service_cli.errors import CommandRefused

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted
from tests.cli.terminal import Ran, Terminal

VARIABLE = "SERVICE_POSTER_PRIVATE_KEY"


def large(path: Path) -> Path:
    path.write_text("a" * (64 * 1024 + 1))
    return path


def binary(path: Path) -> Path:
    path.write_bytes(b"\xff" * 32)
    return path


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _: Path("/dev/zero"), "is not a regular file"),
        (lambda path: path.parent, "is a directory"),
        (lambda path: path, "does not exist"),
        (large, "is larger than 64 KiB"),
        (binary, "is not text"),
    ],
    ids=["device", "folder", "nothing", "large", "binary"],
)
def test_bad_key_file_is_refused_with_the_reason(tmp_path: Path, make: Callable[[Path], Path], reason: str) -> None:
    path = make(tmp_path / "key")
    with pytest.raises(CommandRefused) as refused:
        Environment({f"{VARIABLE}_FILE": str(path)}, {}).secret(VARIABLE)
    assert refused.value.message == f"The file named by {VARIABLE}_FILE {reason}."


KEY = secrets.token_hex(32)
SOLVER, POSTER = "SERVICE_SOLVER_PRIVATE_KEY", "SERVICE_POSTER_PRIVATE_KEY"
RINGS = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"


def own_key(home: Terminal, variable: str) -> str:
    return home.environment[variable].removeprefix("0x")


def look(environment: Environment, work: Path) -> tuple[str, ...]:
    """Look through everything below a folder."""
    entries = {str(path.relative_to(work)): path.lstat().st_size for path in sorted(work.rglob("*"))}
    return secrets_among(environment, work, entries, open_key_files=True)


def never_shown(ran: Ran, key: str) -> None:
    assert key.lower() not in (ran.stdout + ran.words).lower()


@pytest.mark.spec(279)
def test_directory_with_the_dotenv_is_refused(api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str) -> None:
    (solver.home / "main.py").write_text("print(1)\n")
    (solver.home / ".env").write_text(f"{POSTER}=0x{KEY}\n")
    (solver.home / ".env").chmod(0o600)
    ran = solver.run("solver:submit", bounty, ".", code=1)
    assert (ran.names, ran.last["code"]) == (["submit.refused"], "secret_in_artifact")
    assert str(ran.last["message"]).startswith(".env holds a private key")
    never_shown(ran, KEY)
    assert (rpc.sent(), api.approvals(), list(solver.home.rglob("*.age"))) == (0, [], [])


LOOKS = {
    ".env": "A=1\n",
    ".git/config": "[core]\n",
    "server.pem": "x\n",
    "sub/id_ed25519": "x\n",
    "guardian-keys.json": "[]\n",
    "notes.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n",
    "marked.txt": "\ufeff-----BEGIN PRIVATE KEY-----\nx\n",
    "new.txt": "AGE-SECRET-KEY-PQ-1X\n",
    "age.txt": "# created: today\n# public key: age1\nAGE-SECRET-KEY-1X\n",
}
PLAIN = {
    "main.py": f"hash = 0x{secrets.token_hex(32)}\n",
    "environment.md": "# AGE-SECRET-KEY-1 is how a key begins\n",
    "public.txt": "-----BEGIN PUBLIC KEY-----\n",
    "quoted.txt": "A file begins with -----BEGIN PRIVATE KEY-----\n",
}


@pytest.fixture
def work(solver: Terminal) -> Path:
    return fill(solver.home / "work", PLAIN)


def fill(work: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    return work


def test_files_that_look_like_secrets_are_named(work: Path) -> None:
    assert set(look(Environment({}, {}), fill(work, LOOKS))) == {".git", *LOOKS} - {".git/config"}


def test_secrets_are_sealed_only_when_told(
    api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: Path
) -> None:
    fill(work, LOOKS)
    ran = solver.run("solver:submit", bounty, "work", code=1)
    assert ran.last["code"] == "secrets_not_confirmed"
    assert all(name in str(ran.last["message"]) for name in {".git", *LOOKS} - {".git/config"})
    assert (rpc.sent(), api.approvals(), list(solver.home.rglob("*.age"))) == (0, [], [])
    (work / ".bountyignore").write_text(".*\n*.pem\nid_*\n*keys.json\n*.txt\n")
    assert solver.run("solver:submit", bounty, "work").last["event"] == "submit.submission_recorded"
    (work / ".bountyignore").unlink()
    done = solver.run("solver:submit", "--include-suspicious", "--replace", "--quiet", bounty, "work")
    assert done.last["event"] == "submit.submission_recorded"
    assert "look like secrets" in done.words
    assert solver.run("solver:submit", bounty, "work").last == done.last


RING = Identity.generate().to_text()
FORMS: list[tuple[str, Callable[[Path], dict[str, str]], str]] = [
    ("bare", lambda _: {POSTER: KEY}, KEY),
    ("prefixed variable", lambda _: {POSTER: f"0x{KEY}"}, KEY),
    ("prefixed text", lambda _: {POSTER: KEY}, f"0x{KEY}"),
    ("upper", lambda _: {POSTER: f"0X{KEY.upper()}"}, KEY),
    ("upper text", lambda _: {POSTER: KEY}, KEY.upper()),
    ("file", lambda folder: {f"{POSTER}_FILE": str(written(folder / "k", f" 0x{KEY}\n"))}, KEY),
    ("age", lambda _: {RINGS: f'["{RING}"]'}, RING),
    ("lower age", lambda _: {RINGS: f'["{RING}"]'}, RING.lower()),
    ("other role", lambda _: {"SERVICE_SETTLER_PRIVATE_KEY": KEY}, KEY),
]


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(("variables", "text"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS])
@pytest.mark.parametrize("exported", [True, False], ids=["exported", "dotenv"])
def test_directory_with_a_key_is_refused(
    tmp_path: Path, variables: Callable[[Path], dict[str, str]], text: str, exported: bool
) -> None:
    values = variables(tmp_path)
    environment = Environment(values, {}) if exported else Environment({}, values)
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text(f"x{text[:-1]}")
    look(environment, work)
    (work / "a").write_text(f"x{text}x")
    with pytest.raises(CommandRefused) as refused:
        look(environment, work)
    assert refused.value.code == "secret_in_artifact"
    assert KEY not in refused.value.message.lower()


@pytest.mark.spec(279)
@pytest.mark.parametrize("arguments", [(), ("--check",)], ids=["fund", "check"])
def test_page_with_the_posters_key_is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, arguments: tuple[str, ...]
) -> None:
    key, page = own_key(poster, POSTER), poster.home / "page.md"
    good = ledger.page()
    page.write_bytes(good + f"\nUse {key.upper()}.\n".encode())
    ran = poster.run("poster:publish-fund", *arguments, "page.md", code=1)
    assert (ran.names, ran.last["code"]) == (["publish_fund.refused"], "secret_in_document")
    never_shown(ran, key)
    assert (rpc.sent(), api.server.requests) == (0, [])
    page.write_bytes(good + f"\nThe hash is 0x{secrets.token_hex(32)}; a key is AGE-SECRET-KEY-1...\n".encode())
    assert poster.run("poster:publish-fund", "--check", "page.md").last["event"] == "publish_fund.checked"


@pytest.mark.spec(279)
def test_verdict_with_the_guardians_key_is_refused(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    key = own_key(guardian, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY")
    (guardian.home / "body.md").write_text(f"As {key} says.\n")
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", "--unopened", "body.md")
    ran = guardian.run(*words, code=1)
    assert (ran.names, ran.last["code"]) == (["guardian_verdict.refused"], "secret_in_document")
    never_shown(ran, key)
    assert (rpc.sent(), api.approvals()) == (0, [])
