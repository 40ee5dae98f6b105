"""A stranger's Markdown on a terminal: readable, bounded, and never anything but text behind a bar."""

import re

import pytest
from service_cli.ui.render.markdown import markdown_items, plain_items
from service_cli.ui.render.screen import Screen


def shown(body: str, columns: int = 60) -> str:
    screen = Screen(columns, colours=False, now=0)
    return "\n".join(line for item in markdown_items(body) for line in screen.lines(item))


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("# One\n\ntext", ["| # One", "|", "| text"]),
        ("- a\n- b\n  - c\n\nafter", ["| - a", "| - b", "|   - c", "|", "| after"]),
        ("3. a\n4. b", ["| 3. a", "| 4. b"]),
        ("> said\n> on", ["| > said on"]),
        ("```py\nif x:\n\tprint(1)\n```", ["|     if x:", "|         print(1)"]),
        ("*a* **b** `c`", ["| *a* **b** `c`"]),
        ("[text](https://a.example/x)", ["| text <https://a.example/x>"]),
        ("<https://a.example>", ["| https://a.example"]),
        ("![alt](https://a.example/p.png)", ["| [picture: alt <https://a.example/p.png>]"]),
        ("<b onclick=x>hi</b>", ["| <b onclick=x>hi</b>"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b", "| 1 | 2"]),
        ("a\\\nb", ["| a", "| b"]),
        ("---", ["| " + "-" * 20]),
        ("", [""]),
    ],
)
def test_markdown__of_each_kind__reads_as_text(body: str, lines: list[str]) -> None:
    assert shown(body).split("\n") == lines


@pytest.mark.parametrize(
    "body",
    [
        "a\x1b[2J\x1b]8;;https://x\x07b",
        "\u202edesrever\u2066",
        "[good.example](https://evil.example/\u202e)",
        "```\n\x1b[31m\r\n```",
        "&#27;[2J &#x202e;x",
        "# \x9b2J",
    ],
)
def test_markdown__that_would_drive_a_terminal__is_text(body: str) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown(body))


@pytest.mark.parametrize(
    "body", ["[[[\n" * 10_000, "> " * 200 + "x", "\n" * 50_000, "- " * 2_000 + "x", "*a\n" * 25_000], ids=len
)
def test_markdown__that_costs_too_much_or_nests_too_deep__is_shown_as_it_is(body: str) -> None:
    assert shown(body).startswith("|")
    assert shown(body).replace("|", "").replace(" ", "").replace("\n", "") == re.sub(r"\s", "", body)


def test_markdown__of_an_endless_line__states_what_is_left_out() -> None:
    assert shown("x" * 20_000).endswith("xxx")
    assert shown("x" * 20_001).endswith("[… 1 more characters]")


def test_markdown__wrapped__keeps_the_bar_before_every_line() -> None:
    lines = shown("- " + "word " * 40 + "\n\n> " + "quoted " * 40, 40).split("\n")
    assert all(line.startswith("|") for line in lines)
    assert max(map(len, lines)) <= 40


def plain(text: str) -> list[str]:
    screen = Screen(60, colours=False, now=0)
    return [line for item in plain_items(text) for line in screen.lines(item)]


@pytest.mark.attack
@pytest.mark.parametrize("line", ["\n", "\r\n", " \n", "\t\n", "\u2028", "\u3000\n"])
def test_millions_of_empty_lines_are_one(line: str) -> None:
    """Three million once filled the terminal, and memory with it."""
    text = line * (3_000_000 // len(line))
    left = len(text) - 256 * 1024
    assert plain(text) == ["|", f"| [… {left:,} more characters; without --text it is there in full]"]
    assert plain(f"a{line}{line}{line}b") == ["| a", "|", "| b"]


def test_text_of_a_page_s_length_is_shown_whole() -> None:
    text = "a\n" * (128 * 1024)
    assert plain(text) == ["| a"] * (128 * 1024)
    assert plain(f"{text}b")[-1] == "| [… 1 more characters; without --text it is there in full]"
