"""The table of facts and witnesses."""

import pytest
from service_cli.chain.agreement import vouch
from service_cli.chain.witness_table import RULES, TABLE, Fact, Witness, WitnessRule
from service_cli.main import COMMANDS


def test_fact_has_one_rule_and_rests_on_more_than_one_party() -> None:
    assert set(RULES) == set(Fact)
    assert len(TABLE) == len(Fact)
    for rule in TABLE:
        assert len((rule.needs - {Witness.FURTHER}) | rule.one_of) > 1
        assert Witness.FURTHER in rule.needs
        assert set(rule.acts) <= set(COMMANDS)


@pytest.mark.parametrize("rule", TABLE, ids=lambda rule: rule.fact)
def test_value_is_vouched_for_by_all_that_its_fact_needs_and_by_no_fewer(rule: WitnessRule) -> None:
    enough = rule.needs | rule.one_of
    assert vouch(rule.fact, 7, enough).value == 7
    assert vouch(rule.fact, 7, enough).by == enough
    for witness in rule.needs - rule.goes_on_without:
        with pytest.raises(AssertionError, match=witness.name):
            vouch(rule.fact, 7, enough - {witness})
    if rule.one_of:
        for witness in rule.one_of:
            vouch(rule.fact, 7, rule.needs | {witness})
        with pytest.raises(AssertionError):
            vouch(rule.fact, 7, rule.needs)
