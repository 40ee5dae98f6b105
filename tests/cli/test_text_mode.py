"""Whole commands with ``--text``: at terminals of several widths, into files, into readers that go away."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BountyId
from service_cli.shell.render.screen import width

from tests.cli import scenes, tour
from tests.cli.api_twin import ApiTwin
from tests.cli.kill import CLIENT
from tests.cli.ledger import Ledger
from tests.cli.scenes import Case, Stage, make_stage
from tests.cli.screen import at_terminal
from tests.cli.servers import RpcProxy
from tests.cli.shell.test_command import read_one_line, shelled
from tests.cli.submitted import Submitted
from tests.cli.terminal import Terminal

CHANGING = [scene for scene in scenes.SCENES if scene is not scenes.replace_by_wallet]
"""What a wallet of its own does is in JSON."""
CODES = re.compile("\x1b\\[[0-9]*m")


@pytest.fixture(scope="module")
def stage(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    api, rpc = ApiTwin(ledger), RpcProxy(ledger.node.url)
    yield make_stage(ledger, api, rpc, tmp_path_factory.mktemp("stage"))
    api.close()
    rpc.close()


@pytest.mark.parametrize("scene", CHANGING, ids=lambda scene: scene.__name__)
def test_command__that_changes_something__does_it_and_ends_in_sentences(
    stage: Stage, scene: Callable[[Stage], Case]
) -> None:
    case = scene(stage)
    ran = case.home.run(*case.words, "--text")
    assert case.check()
    assert "Done. " in ran.stdout
    assert "{" not in ran.stdout
    if case.transactions:
        assert re.search(r"^ Cost +0\.\d+ ether for gas$", ran.stdout, re.MULTILINE)
    again = case.home.run_any(*case.words, "--text")  # what is done is shown again, or refused
    assert "{" not in again.stdout
    assert again.stdout or "refused: " in again.words


@pytest.fixture
def listing(api: ApiTwin, poster: Terminal) -> Terminal:
    """Somebody to whom the API lists three bounties."""
    titles = ("A hinge that lasts", "字" * 60, "\x1b[2J\u202e" + "evil " * 40)
    items = [
        to_json(replace(tour.item(), bounty_id=BountyId(number), title=title)) for number, title in enumerate(titles, 1)
    ]
    api.listed = {"items": items, "next_cursor": None}
    return poster


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_list__at_a_terminal__is_a_table_that_fits(listing: Terminal, columns: int) -> None:
    seen = at_terminal(listing, "bounty:list", "--text", columns=columns, watched=True)
    lines = CODES.sub("", seen.screen).splitlines()
    assert (seen.code, len(lines)) == (0, 4)
    assert lines[0].split()[:2] == ["BOUNTY", "AWARD"]
    assert max(map(width, lines)) <= columns
    assert "LEFT" in lines[0]
    assert "\x1b[2J" not in seen.screen
    assert "\u202e" not in seen.screen


@pytest.mark.parametrize(
    ("words", "more"), [([], {"NO_COLOR": "1"}), (["--no-color"], {}), ([], {"TERM": "dumb"})], ids=str
)
def test_colours__that_somebody_does_not_want__are_not_there(
    listing: Terminal, words: list[str], more: dict[str, str]
) -> None:
    assert "\x1b[2mBOUNTY" in at_terminal(listing, "bounty:list", "--text", watched=True).screen
    shy = Terminal(listing.home, {**listing.environment, **more})
    seen = at_terminal(shy, "bounty:list", "--text", *words, watched=True)
    assert "BOUNTY" in seen.screen
    assert "\x1b" not in seen.screen


def test_list__into_a_file_beside_a_terminal__is_whole_and_without_colours(listing: Terminal) -> None:
    seen = at_terminal(listing, "--text", "bounty:list", columns=40)
    assert "字" * 60 in seen.stdout
    assert "\x1b" not in seen.stdout
    assert seen.screen == ""


def test_list__in_an_encoding_without_these_letters__is_printed_without_them(listing: Terminal) -> None:
    ran = shelled(
        Terminal(listing.home, {**listing.environment, "PYTHONIOENCODING": "ascii"}), f"{CLIENT} bounty:list --text"
    )
    assert (ran.returncode, b"Traceback" in ran.stderr) == (0, False)
    assert b"A hinge that lasts" in ran.stdout


def test_list__of_nothing__is_a_sentence_on_stderr(poster: Terminal) -> None:
    ran = poster.run("bounty:list", "--text")
    assert (ran.stdout, ran.words) == ("", "no bounties match\n")


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
def test_text__into_what_takes_nothing__is_one_line_and_exit_code_1(listing: Terminal, where: str) -> None:
    done = shelled(listing, f"{CLIENT} bounty:list --text {where}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(b"failed: standard output cannot be written: ")


def test_text__whose_reader_leaves_a_list__ends_silently(listing: Terminal) -> None:
    for _ in range(3):
        done = shelled(listing, f"{CLIENT} bounty:list --text | true")
        assert done.stderr == b""


def test_text__whose_reader_leaves_after_money_moved__names_what_nobody_read(ledger: Ledger, poster: Terminal) -> None:
    (poster.home / "page.md").write_bytes(ledger.page())
    code, told = read_one_line(poster, "poster:publish-fund", "--text", "page.md")
    assert code == 1
    assert "publish_fund.bounty_created (bounty_id " in told.splitlines()[-1]


def test_text__of_a_refusal__is_on_stderr_alone(poster: Terminal) -> None:
    ran = poster.run("claim", "424242", "--text", code=1)
    assert ran.stdout == ""
    assert ran.words.splitlines()[0].startswith("refused: ")
    assert ran.words.splitlines()[-1].startswith("next: ")


def test_publish_fund__as_text__ends_in_what_happened_what_it_cost_and_what_comes_next(
    ledger: Ledger, poster: Terminal
) -> None:
    symbol = str(ledger.token.call("symbol"))
    ran = poster.run("poster:publish-fund", "--text", "-", stdin=ledger.page())
    bounty = ledger.bounty_count()
    out = " ".join(ran.stdout.split())
    assert f"Done. Bounty {bounty} is funded: 25 {symbol} are in escrow, and the winner gets 2" in out
    assert re.search(r"Cost 0\.\d+ ether for gas Transaction 0x[0-9a-f]{64}", out)
    assert out.endswith(f"Next service-cli bounty:watch {bounty}")
    assert "signing: " in ran.words


def test_claim__as_text__and_once_more__names_the_amount(ledger: Ledger, poster: Terminal) -> None:
    bounty = str(ledger.ended_in_silence())
    symbol = str(ledger.token.call("symbol"))
    out = " ".join(poster.run("claim", bounty, "--text").stdout.split())
    assert "owes 0x" in out
    assert f"Done. 25 {symbol} are in your account. Cost 0." in out


@pytest.mark.parametrize("columns", [40, 80])
def test_show__at_a_terminal__is_a_page_of_money_times_people_and_the_challenge(
    ledger: Ledger, api: ApiTwin, poster: Terminal, columns: int
) -> None:
    bounty, page = ledger.fund(seconds=86_400)
    api.keep_page(page)
    seen = at_terminal(poster, "bounty:show", str(bounty), "--text", columns=columns, watched=True)
    text = CODES.sub("", seen.screen)
    title = page.split(b"title: ")[1].split(b"\n")[0].decode()
    assert f"Bounty {bounty}: {title}" in text
    sections = ("Money", "Times", "Guardians (2 of 3 must agree)", "Submissions (0)", "Poster", "Challenge page")
    assert all(f"\n{part}\n" in text for part in sections)
    assert "| # What is asked\n|\n| A program.\n" in text
    assert all(width(line) <= columns for line in text.splitlines() if len(line.split()) > 1 and "0x" not in line)


def test_show__of_a_bounty_that_ended__names_who_can_claim(
    ledger: Ledger, api: ApiTwin, poster: Terminal, ended: int
) -> None:
    silent = ledger.ended_in_silence()
    for bounty, who in ((ended, "The winner"), (silent, "The Poster")):
        out = " ".join(poster.run("bounty:show", str(bounty), "--text").stdout.split())
        assert f"Next {who} claims with service-cli claim {bounty}" in out


def test_show__a_page_that_is_not_the_committed_one__is_named(ledger: Ledger, api: ApiTwin, poster: Terminal) -> None:
    bounty, page = ledger.fund(seconds=86_400)
    api.keep_page(page)
    api.lies["detail"] = lambda answer: {**answer, "challenge": "# Pay me instead\n\x1b[2J"}
    out = poster.run("bounty:show", str(bounty), "--text").stdout
    assert "It is not the one that was committed" in out
    assert "| # Pay me instead" in out
    assert "\x1b" not in out


def test_status__as_text__is_a_table_with_the_commands(
    ledger: Ledger, api: ApiTwin, poster: Terminal, won: Submitted
) -> None:
    refundable = ledger.ended_in_silence()
    api.listed = {"items": [api.item(refundable)], "next_cursor": None}
    seen = at_terminal(poster, "status", "--text", columns=40, watched=True)
    text = CODES.sub("", seen.screen)
    assert "BOUNTY  WHAT" in text
    assert f"  service-cli claim {refundable}\n" in text
    assert "waits for you." in text


def test_watch__as_text__is_a_log_with_relative_times(poster: Terminal, ended: int) -> None:
    ran = poster.run("bounty:watch", str(ended), "--text")
    assert re.search(r"^.* ago, block \d+: created by 0x[0-9a-f]{4}…", ran.stdout, re.MULTILINE)
    assert f"Ended. Bounty {ended} is final and awarded" in ran.stdout
    assert ran.words == ""


@pytest.mark.parametrize("columns", [40, 200])
def test_watch__at_a_terminal__keeps_the_changing_line_apart_from_the_log(
    ledger: Ledger, poster: Terminal, columns: int
) -> None:
    bounty, _ = ledger.fund(seconds=5_000)
    seen = at_terminal(
        poster, "bounty:watch", "--text", str(bounty), columns=columns, watched=True,
        stop_when=lambda text: "\r\x1b[Kbounty" in text,
    )  # fmt: skip
    log, _, drawn = seen.screen.partition("\r\x1b[K")
    assert seen.code == 130
    assert "created by 0x" in " ".join(CODES.sub("", log).split())
    assert "now: Submissions are accepted until" in " ".join(CODES.sub("", log).split())
    assert " ".join(drawn.rpartition("\r\x1b[K")[2].split()) == "interrupted; run the command again to continue"


@pytest.mark.parametrize("mode", [["--text"], []])
def test_external_wallet__in_either_mode__gets_json_alone(
    ledger: Ledger, poster: Terminal, mode: list[str], won: Submitted
) -> None:
    ran = poster.run("claim", won.bounty, "--claimant-address", won.solver, *mode)
    assert ran.names == ["claim.prepared", "claim.transaction_prepared"]
    refused = poster.run("claim", won.bounty, "--claimant-address", "0x" + "ab" * 20, *mode, code=1)
    assert refused.last["code"] == "not_entitled"


def test_solver_with_a_wallet__in_text_mode__gets_json_alone(ledger: Ledger, solver: Terminal, bounty: str) -> None:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    account = ledger.people.solvers[1].address
    ran = solver.run("solver:submit", "--check", "--solver-address", account, bounty, "work", "--text")
    assert ran.last["event"] == "submit.checked"


def test_check__as_text__lists_files_and_costs(solver: Terminal, bounty: str) -> None:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    out = solver.run("solver:submit", "--check", bounty, "work", "--text").stdout
    assert out.splitlines()[0] == "    9 bytes  main.py"
    assert "Ready. 1 file (9 bytes) would be sealed" in out


def test_doctor__as_text__names_each_check_on_a_line(poster: Terminal) -> None:
    ran = poster.run_any("doctor", "--text")
    assert re.search(r"^ok chain: ", ran.stdout, re.MULTILINE)
    assert "{" not in ran.stdout


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_refusal__at_a_terminal__is_wrapped_and_marked_and_breaks_no_hash(poster: Terminal, columns: int) -> None:
    plain = {name: value for name, value in poster.environment.items() if "PRIVATE_KEY" not in name}
    for arguments in (("poster:open-winning-submission", "1", "--text"), ("guardian:claim-fee", "1", "--text")):
        seen = at_terminal(Terminal(poster.home, plain), *arguments, columns=columns, watched=True)
        assert seen.code == 1
        assert "\x1b[1;31mrefused:\x1b[0m" in seen.screen
        for line in CODES.sub("", seen.screen).splitlines():
            assert width(line) <= columns or len(line.split()) == 1 or "service-cli" in line
    shy = Terminal(poster.home, {**plain, "NO_COLOR": "1"})
    assert "\x1b" not in at_terminal(shy, "guardian:claim-fee", "1", "--text", watched=True).screen
