"""What plays the guides: which commands a page has, when two screens state the same, and a person's shell."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from demo.person import UnexpectedEnd
from local_stack.accounts import RoleAccount
from local_stack.environment import claim_files
from local_stack.folders import make_folders

from tools.guides.document import TypedCommand, commands_of, read, with_screens
from tools.guides.play import GUARDIAN, INTEGRATOR, POSTER, SCREENS, SOLVER, differing, play_guides, play_tour
from tools.guides.played_stack import Page, PlayedStack
from tools.guides.screens import normalized

TEXT = """# Guide

## 1. Look

```console
$ service-cli status
Nothing waits.
$ service-cli claim --all
```

```sh
# by anyone
service-cli doctor
```

```json
{"$ not": "typed"}
```
"""


def test_commands__of_a_page__are_typed_lines_with_their_screens() -> None:
    assert list(commands_of("x.md", TEXT)) == [
        TypedCommand("x.md", "1. Look", "service-cli status", "Nothing waits.\n"),
        TypedCommand("x.md", "1. Look", "service-cli claim --all", ""),
        TypedCommand("x.md", "1. Look", "service-cli doctor", None),
    ]


def test_screens__put_into_a_page__change_theirs_alone() -> None:
    made = with_screens(TEXT, {"service-cli claim --all": "Done.\n"})
    assert made == TEXT.replace("claim --all\n", "claim --all\nDone.\n")
    assert with_screens(made, {}) == made


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("until 2026-11-25 10:00:00 UTC (in 5 min)", "until 2027-01-02 03:04:05 UTC (in 4 min 58 s)"),
        ("sent 0xab12…cd34 at most 0.01 ether", "sent 0x9912…0034 at most 0.000072 ether"),
        ("A long\nline", "A long line"),
        ("Done.", "waiting until the chain has finalized it\nDone."),
    ],
)
def test_screens__that_differ_by_run__state_the_same(shown: str, printed: str) -> None:
    assert normalized(shown) == normalized(printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [("Bounty 7 owes you 24 tUSDC", "Bounty 7 owes you 25 tUSDC"), ("Done.", "Not done."), ("3 files", "4 files")],
)
def test_screens__that_state_something_else__differ(shown: str, printed: str) -> None:
    assert normalized(shown) != normalized(printed)


@pytest.mark.parametrize("page", [POSTER, SOLVER, GUARDIAN, INTEGRATOR])
def test_guides__compared_with_their_own_screens__differ_nowhere_and_with_another_there(page: str) -> None:
    shown = {each.line: each.screen for each in commands_of(page) if each.screen is not None}
    assert shown
    assert not differing(page, shown)
    line = next(iter(shown))
    assert differing(page, {**shown, line: "Something else.\n"}) == {line: "Something else.\n"}


@pytest.mark.parametrize("page", [POSTER, SOLVER, GUARDIAN, INTEGRATOR, SCREENS])
def test_screens__that_the_session_writes__are_marked_as_made(page: str) -> None:
    by_hand = re.sub(r"(?ms)^<!-- generated: [\w-]+ -->$.*?^<!-- end -->$", "", read(page))
    assert "```console" in read(page)
    assert "```console" not in by_hand


def test_page__with_a_command_that_nobody_plays__is_refused() -> None:
    page = Page(SOLVER)
    page.below("3. Submit")
    with pytest.raises(UnexpectedEnd, match="not played"):
        page.finish()
    with pytest.raises(UnexpectedEnd, match="no commands below"):
        page.below("3. Submit")


@pytest.mark.parametrize("play", [play_tour, play_guides])
def test_play__names_each_chapter_of_the_pages_and_leaves_no_command_out(play: Callable[[PlayedStack], None]) -> None:
    rehearsed = create_autospec(PlayedStack, instance=True)
    rehearsed.times.return_value = (0, 0)
    play(rehearsed)  # raises for a chapter that no page has, and for a command that is left
    assert rehearsed.play.called


@pytest.mark.parametrize("shell", [name for name in ("sh", "bash", "zsh", "fish") if shutil.which(name)])
def test_shell__of_a_person__is_the_caller_s_with_that_person_s_keys_in_a_folder_with_what_is_needed(
    tmp_path: Path, shell: str
) -> None:
    people = (RoleAccount("poster"), RoleAccount("solver", 1))
    files = claim_files(tmp_path / "it's here" / "stack.env", exactly=True)
    files.write({}, {person.name: person.variables() for person in people})
    make_folders(files, people)
    for person, began_with in zip(people, ("example.md", "work"), strict=True):
        typed = "; ".join(
            (
                f"echo $SERVICE_{person.role.upper()}_ADDRESS",
                *("ls", "command -v service-cli", "echo $SERVICE_OUTPUT", "echo $XDG_STATE_HOME"),
                'cmp -s "$SERVICE_LOCAL_STACK" ../' + person.name + ".env && echo same",
                'echo "keys=$SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY$SERVICE_OTHER_PRIVATE_KEYS_JSON"',
            )
        )
        others = {"SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": "x", "SERVICE_OTHER_PRIVATE_KEYS_JSON": "[1,\n2]"}
        ran = subprocess.run(
            [files.folder / person.name / "shell", "-c", typed],
            env={"PATH": "/usr/bin:/bin", "SHELL": str(shutil.which(shell)), "HOME": str(tmp_path), **others},
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        head, _, state = ran.stdout.partition("\n" + str(tmp_path))
        address, *listed, client, output = head.replace(str(tmp_path), "").split()
        assert state.splitlines()[0].endswith(f"/.state/{person.name}")
        assert state.splitlines()[1:3] == ["same", "keys="]
        assert (address, sorted(listed), output) == (person.address, sorted([began_with, "shell"]), "text")
        assert Path(client).name == "service-cli"
    files.remove()
    assert not files.folder.exists()
