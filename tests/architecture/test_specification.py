"""Every statement of the interface specification is shown by a test, or its ADR is named."""

import pytest

from tools.generate.specification import Specification, marks_of, read_specification

COUNT = 392


def test_statements_are_shown_or_decided() -> None:
    specification = read_specification()
    numbers = [number for statements in specification.sections.values() for number in statements]
    assert numbers == list(range(1, COUNT + 1))
    assert specification.unshown() == [], "mark a test with @pytest.mark.spec, or name the ADR in specification.toml"
    assert specification.unknown() == [], "no statement has this number"


def test_statement_without_test_is_found() -> None:
    of_three = {"Values": {1: "one", 2: "two", 3: "three"}}
    assert Specification(of_three, {1: 17}, {2: ("t",)}).unshown() == [3]
    assert Specification(of_three, {}, {1: ("t",), 2: ("t",), 3: ("t",)}).unshown() == []
    assert Specification(of_three, {5: 17}, {3: ("t",), 4: ("t",)}).unknown() == [4, 5]


def test_marks_are_read_from_the_source() -> None:
    source = """
import pytest

@pytest.mark.spec(1, 2)
@pytest.mark.parametrize("x", [1])
def test_one(x): ...

@pytest.mark.spec(3)
class TestMore:
    @pytest.mark.spec(4)
    def test_two(self): ...
"""
    assert list(marks_of(source)) == [("test_one", [1, 2]), ("TestMore", [3]), ("TestMore::test_two", [4])]


@pytest.mark.parametrize(
    "source",
    [
        "@pytest.mark.spec('1')\ndef test_one(): ...",
        "@pytest.mark.spec(ONE)\ndef test_one(): ...",
        "@pytest.mark.spec(True)\ndef test_one(): ...",
        "@pytest.mark.spec(1)\ndef helper(): ...",
        "pytestmark = pytest.mark.spec(1)",
    ],
)
def test_mark__that_would_be_passed_over__is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="mark of the specification"):
        list(marks_of(source))
