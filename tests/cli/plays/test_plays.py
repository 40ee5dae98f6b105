"""Generated plays: every act against what a hostile node, API or operator of both can forge, over several runs.

Each is judged by the true chain alone. More than 120 by default, drawn by SERVICE_CAMPAIGN_SEED: each fact
forged by each party in each command that rests on it, and some with one, two or three forgeries of
anything. In a campaign every forgery alone, every two subjects together and 1,400 of the others. What fails is shown
again, with all that its runs printed, by ``python -m tests.cli.plays SEED``.
"""

import random
from itertools import product

import pytest

from tests.campaign import SEED, size, some, source
from tests.cli.plays.acts import ACTS
from tests.cli.plays.facts import FORGED_FACTS, By, ForgedFact
from tests.cli.plays.forgeries import FORGERIES, SUBJECTS
from tests.cli.plays.play import Play, Run, draw_kill, drawn, of_seed, paired, pairs, perform, single, singles
from tests.cli.plays.world import World

PARTS = 5
SINGLES = some("single forgeries", singles(), 30)
PAIRS = some("pairs of subjects", pairs(), 30)
DRAWN = [f"{SEED}.{number}" for number in range(size(30, 1_400))]


def assert_nothing_found(world: World, plays: list[Play]) -> None:
    judged = [(play, perform(world, play).findings) for play in plays]
    wrong = ["\n".join([str(play), *(f"  found: {one}" for one in found)]) for play, found in judged if found]
    if wrong:
        pytest.fail("\n".join([f"{len(wrong)} of {len(plays)} plays", *wrong]), pytrace=False)


@pytest.mark.parametrize("rule", FORGED_FACTS, ids=lambda rule: rule.fact.name.lower())
def test_each_fact_forged_gets_nothing(world: World, rule: ForgedFact) -> None:
    """A fact that no forgery bears on fails this, too."""
    plays, dice = [], source(f"forged {rule.fact.name}")
    for command, by in product(rule.commands, By):
        found = [
            (act, forged)
            for act, forged in singles()
            if forged.by is by and act.words(world)[0] == command
            if rule.fact in SUBJECTS[forged.forgery.subject].bears_on
        ]
        assert found or by not in rule.by, f"{by.value} in {command}"
        plays += [single(*each) for each in dice.sample(found, min(len(found), 1))]
    assert_nothing_found(world, plays)


@pytest.mark.spec(25)
@pytest.mark.parametrize("part", range(PARTS))
def test_one_forgery__gets_nothing_out_of_any_act(world: World, part: int) -> None:
    assert_nothing_found(world, [single(*each) for each in SINGLES[part::PARTS]])


@pytest.mark.parametrize("part", range(PARTS))
def test_two_subjects__get_nothing_out_of_any_act(world: World, part: int) -> None:
    assert_nothing_found(world, [paired(*each) for each in PAIRS[part::PARTS]])


@pytest.mark.parametrize("part", range(PARTS))
def test_forgeries_get_nothing_out_of_any_act(world: World, part: int) -> None:
    assert_nothing_found(world, [drawn(seed) for seed in DRAWN[part::PARTS]])


def test_honest_runs_killed_anywhere__end_as_meant(world: World) -> None:
    dice = source("honest plays")
    plays = [Play(act, tuple(_honest(dice))) for act in ACTS.values() for _ in range(size(1, 30))]
    assert_nothing_found(world, plays)


def _honest(dice: random.Random) -> list[Run]:
    return [Run(kill=draw_kill(dice, 0.8)) for _ in range(dice.choice([1, 2]))]


def test_a_play_is_the_same_each_time_it_is_drawn() -> None:
    plays = [drawn(DRAWN[0]), single(*SINGLES[0]), paired(*PAIRS[0])]
    assert [of_seed(play.seed) for play in plays] == plays


def test_every_subject_concerns_an_act() -> None:
    concerned = {(forged.forgery.subject, act.name) for act, forged in singles()}
    assert {subject for subject, _ in concerned} == set(SUBJECTS)
    assert {act for _, act in concerned} == set(ACTS)
    assert len(FORGERIES) == sum(len(subject.forgeries) for subject in SUBJECTS.values())
