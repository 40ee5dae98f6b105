"""The terms in ABI order, as printed arguments."""

from tests.vectors.samples import TERMS, word


def test_terms_as_args_are_in_the_structs_order() -> None:
    assert TERMS.to_args() == [
        word("spec"),
        TERMS.expected_roster_hash,
        "250000000",
        "1900000000",
        "259200",
        "2500000",
        "12500000",
        word("salt"),
    ]
