"""Names that tools obey are laid out as others; what a tool did with the former names, and does not with these."""

import os
import re
import subprocess
import sys
import tarfile
import unicodedata
from pathlib import Path

import pytest
from bounty_protocol.crypto.archive import MAX_NAME_BYTES, check_name, folded
from bounty_protocol.crypto.archive_read import unpack
from bounty_protocol.crypto.inert_names import inert_name, inert_path
from bounty_protocol.domain.challenge.invisible_characters import JOINERS, SELECTORS, UNSEEN
from hypothesis import example, given
from hypothesis import strategies as st

from tests.protocol.crypto.trees import LIMITS, chunks_of, entry_of, pack, tar_of, tree, unpack_into
from tests.protocol.crypto.trees import make as make_files


def words(text: str) -> list[str]:
    return text.split()


OBEYED_NAMES = [
    *words("""
    .git .hg .svn .bzr .jj .sl .pijul .fslckout _FOSSIL_ _darcs CVS .gitmodules .gitattributes .gitconfig .env
    .env.local .env.production.local .envrc .flaskenv .autoenv .autoenv.zsh .rvmrc .ondirrc .vscode .idea .vs
    .fleet .zed .cursor .theia .devcontainer .devcontainer.json .project .settings .helix .vimrc .exrc .nvimrc
    .nvim.lua .lvimrc .gvimrc .vim _vimrc _exrc .dir-locals.el .dir-locals-2.el .tool-versions mise.toml
    .mise.toml mise.local.toml .mise .python-version .ruby-version .nvmrc .node-version .sdkmanrc
    rust-toolchain rust-toolchain.toml .cargo bunfig.toml .bazelrc .mvn .gradle .npmrc .yarnrc .yarnrc.yml
    .pnpmfile.cjs .pypirc .bundle .m2 pyvenv.cfg sitecustomize.py usercustomize.py evil.pth conftest.py
    sitecustomize.so sitecustomize.cpython-312-x86_64-linux-gnu.so usercustomize.pyd sitecustomize encodings
    encodings.py pytest.toml
    pytest.ini .coveragerc __pycache__ .pdbrc .pylintrc pylintrc mypy.ini .mypy.ini .flake8 ipython_config.py
    jupyter_notebook_config.py jupyter_server_config.json profile_default .Rprofile .RData .Renviron .ghci
    .ocamlinit .irbrc .pryrc .rspec .rubocop.yml .iex.exs .octaverc .eslintrc.js eslint.config.js
    eslint.config.mjs .prettierrc.js prettier.config.cjs .latexmkrc latexmkrc startup.m .gdbinit .lldbinit
    prog-gdb.py .terraformrc .htaccess .user.ini .bashrc .bash_profile .profile .zshrc .zshenv .inputrc .ssh
    .gnupg .netrc .config .local .tmux.conf .xsession autorun.inf desktop.ini Desktop.INI folder.htt
    run.desktop a.lnk a.url a.scf a.library-ms .directory .DS_Store CLAUDE.md claude.md CLAUDE.local.md
    AGENTS.md GEMINI.md copilot-instructions.md .mcp.json .claude .cursorrules opencode.json git~1 GIT~1
    GITCON~1 env~1.loc .GIT .Git .g\u200cit .\ufeffgit \uff0egit .git. .git::$INDEX_ALLOCATION \u202e.git
    \u2024git
"""),
    ".git ",
    ".git. .",
]
KEPT = words("""
    README.md Makefile setup.py package.json pyproject.toml Dockerfile main.c lib.so git gitconfig env
    environment head.py header.h vscode notes.md index.html .gitignore .gitkeep .editorconfig configure a.b.c
    x~ file.~1~ v1~2.longer agents.py my-desktop.txt urls.txt path pth conftest.md
    \u0646\u0627\u0645\u0647\u200c\u0647\u0627.txt \u05e9\u05dc\u05d5\u05dd.md \u0e17\u0e35\u0e48.md
    \u65e5\u672c\u8a9e.md \u2764\ufe0f.md \u00e9t\u00e9.py
""")


@pytest.mark.parametrize("name", OBEYED_NAMES)
def test_obeyed_name_is_inert_at_any_depth(name: str) -> None:
    laid_out = inert_name(name, directory=False)
    assert laid_out.startswith("inert_")
    assert laid_out.isprintable()
    assert inert_path(f"a/b/{name}", directory=False) == f"a/b/{laid_out}"
    assert inert_path(f"{name}/b", directory=False).startswith(f"{laid_out}/")


@pytest.mark.parametrize("name", KEPT)
def test_name_that_a_person_reads_or_starts__stays(name: str) -> None:
    assert inert_path(f"a/{name}", directory=False) == f"a/{name}"


def test_head_is_inert_as_a_file_only() -> None:
    assert [inert_path("x/HEAD", directory=kind) for kind in (False, True)] == ["x/inert_HEAD_", "x/HEAD"]


def original(laid_out: str) -> str:
    """As the documents describe it; only a name that was cut does not come back."""
    if not laid_out.startswith("inert_"):
        return laid_out
    return re.sub(r"\{U\+([0-9A-F]{4,6})\}", lambda found: chr(int(found[1], 16)), laid_out[len("inert_") : -1])


def is_name(name: str) -> bool:
    try:
        check_name(name)
    except Exception:  # noqa: BLE001
        return False
    return True


TRICKY = st.sampled_from(
    [*".~_{}U+0B/:gitehad", "inert", "INERT_", "\u200b", "\u200d", "\ufe0f", "\u202e", "\u00e9", ".pth"]
)
NAMES = st.lists(st.one_of(TRICKY, st.characters(exclude_categories=["Cs"])), min_size=1, max_size=12).map("".join)


@given(NAMES.filter(is_name), NAMES.filter(is_name), st.booleans())
@example("a{U+200B}", "a\u200b", False)
@example("inert_.git_", ".git", True)
@example("\xa0\u200d\u200b", "}", False)
def test_inert_names_come_back_and_never_collide(one: str, other: str, directory: bool) -> None:
    laid_out = inert_name(one, directory=directory)
    assert original(laid_out) == one
    check_name(laid_out)
    assert inert_name(laid_out, directory=directory) == (
        laid_out if laid_out == one else f"inert_{laid_out.replace('{', '{U+007B}')}_"
    )
    assert UNSEEN.search(laid_out) is None
    if folded(one) != folded(other):
        assert folded(laid_out) != folded(inert_name(other, directory=directory))


@pytest.mark.parametrize("name", ["." + "n" * 254, "." + "\u00e9" * 127, "\u200b" * 85, "." + "\u200b" * 84])
def test_long_inert_name_is_cut_and_stays_unique(name: str) -> None:
    laid_out, other = inert_name(name, directory=False), inert_name(name[:-1] + "x", directory=False)
    assert laid_out.startswith("inert~")
    assert len(laid_out.encode()) <= MAX_NAME_BYTES
    assert laid_out != other


def test_unseen_holds_every_invisible_format_letter() -> None:
    shown = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"}
    hieroglyphs = set(range(0x13430, 0x13460))
    joining = {ord(each) for each in JOINERS + SELECTORS}
    assert [hex(code) for code in formats - shown - hieroglyphs - joining if not UNSEEN.search(chr(code))] == []
    assert not any(UNSEEN.search(chr(code)) for code in shown)


# What tools do


def git(folder: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False, timeout=60
    )


def laid_out(files: dict[str, bytes], tmp_path: Path, *, former: bool) -> Path:
    """The files sealed and opened, as the former code did or as it does now."""
    data, out = pack(make_files(tmp_path / "work", files)), tmp_path / "out"
    out.mkdir()
    unpack(chunks_of(data), out, LIMITS, original_names=former)
    return out


def repository(tmp_path: Path, name: str, trace: Path, *, bare: bool) -> dict[str, bytes]:
    """A repository whose configuration has git run a program whenever it looks for changes."""
    made = tmp_path / "made"
    made.mkdir()
    git(made, tmp_path, "init", "--quiet")
    (made / "a.txt").write_text("a\n")
    git(made, tmp_path, "add", "a.txt")
    program = f"touch {trace};:"
    where = {"core.bare": "false", "core.worktree": str(tmp_path / "tree")} if bare else {}
    for key, value in ({"core.fsmonitor": program} | where).items():
        git(made, tmp_path, "config", key, value)
    files = {path: content for path, content in tree(made / ".git").items() if not path.startswith("hooks/")}
    files |= {"refs/heads/x": b"", "objects/info/x": b""}
    return {f"{name}/{path}": content for path, content in files.items()} | {"a.txt": b"a\n"}


@pytest.mark.parametrize(("name", "bare"), [(".git", False), ("docs", True)])
def test_git_in_opened_work_runs_nothing(name: str, bare: bool, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    (tmp_path / "tree").mkdir()
    files = repository(tmp_path, name, trace, bare=bare)
    for former in (True, False):
        folder = tmp_path / str(former)
        folder.mkdir()
        out = laid_out(files, folder, former=former)
        found = git(out / name if bare else out, tmp_path, "status")
        assert trace.exists() is former, found.stderr
        trace.unlink(missing_ok=True)


def test_python_beside_opened_work_runs_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    program = f"open({str(trace)!r}, 'w').close()\n".encode()
    work = {"sitecustomize.py": program, "lib/x.pth": b"import os; " + program}
    early = f"import posix\nposix.close(posix.open({str(trace)!r}, posix.O_CREAT))\n".encode()  # before there is open()
    for place, files in (("site", work), ("encodings", {"encodings/__init__.py": early})):
        for former in (True, False):
            folder = tmp_path / f"{place}-{former}"
            folder.mkdir()
            out = laid_out(files, folder, former=former)
            ran = subprocess.run(
                [sys.executable, "-c", f"import site; site.addsitedir({str(out / 'lib')!r})"],
                env={"PYTHONPATH": str(out), "PATH": os.environ["PATH"]}, check=False, capture_output=True, timeout=60,
            )  # fmt: skip
            assert trace.exists() is former
            assert former or ran.returncode == 0
            trace.unlink(missing_ok=True)


def test_unpacking_reports_each_changed_name_once(tmp_path: Path) -> None:
    data = tar_of(
        entry_of(".git/config"), entry_of(".git/hooks/x"), entry_of(".git/HEAD"), entry_of("a/.env"), entry_of("a/b"),
        entry_of("src/", tarfile.DIRTYPE), entry_of(".venv/", tarfile.DIRTYPE),
    )  # fmt: skip
    found = unpack_into(data, tmp_path / "out")
    assert found.inert == ("inert_.git_", "inert_.git_/inert_HEAD_", "a/inert_.env_", "inert_.venv_")
    names = {"inert_.git_/config", "inert_.git_/hooks/x", "inert_.git_/inert_HEAD_", "a/inert_.env_", "a/b"}
    assert set(tree(tmp_path / "out")) == names
    (tmp_path / "as-they-are").mkdir()
    plain = unpack(chunks_of(data), tmp_path / "as-they-are", LIMITS, original_names=True)
    assert (plain.inert, plain.file_count) == ((), found.file_count)
    assert set(tree(tmp_path / "as-they-are")) == {".git/config", ".git/hooks/x", ".git/HEAD", "a/.env", "a/b"}


def test_two_names_that_differ__stay_two_files(tmp_path: Path) -> None:
    data = tar_of(
        entry_of(".git"),
        entry_of("inert_.git_"),
        entry_of("inert_inert_.git__"),
        entry_of("a\u200b"),
        entry_of("a{U+200B}"),
    )
    assert unpack_into(data, tmp_path / "out").file_count == len(tree(tmp_path / "out")) == 5
