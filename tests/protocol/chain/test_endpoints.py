"""Which endpoint is asked first."""

from dataclasses import dataclass

from bounty_protocol.chain.endpoints import FIRST_REST_SECONDS, LONGEST_REST_SECONDS, Endpoints

SECRET = "https://rpc.example/v3/secret-key"


@dataclass
class Ticks:
    """A clock that a test moves."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def three(ticks: Ticks) -> Endpoints:
    return Endpoints([SECRET, "https://two.example", "https://three.example"], monotonic=ticks, jitter=lambda: 1.0)


def places(endpoints: Endpoints) -> list[int]:
    return [each.place for each in endpoints.in_order()]


def test_resting_endpoints_wake_if_others_are_few() -> None:
    ticks = Ticks()
    endpoints = three(ticks)
    for each in endpoints.all[:2]:
        endpoints.failed(each)
    assert [[each.place for each in endpoints.awake(least)] for least in (0, 1, 2, 3)] == [[3], [3], [3, 1], [3, 1, 2]]
    ticks.now += FIRST_REST_SECONDS * 1.01
    assert [each.place for each in endpoints.awake(1)] == [1, 3, 2]


def test_useless_answer_costs_the_first_place() -> None:
    ticks = Ticks()
    endpoints = three(ticks)
    endpoints.distrusted()
    assert places(endpoints) == [2, 3, 1]
    ticks.now += FIRST_REST_SECONDS * 1.01
    assert places(endpoints)[0] == 2
    for each in endpoints.all:
        endpoints.failed(each)
    endpoints.distrusted()
    assert places(endpoints)[0] != 2, "also while all rest"
    alone = Endpoints([SECRET])
    alone.distrusted()
    assert places(alone) == [1]


def test_rest_doubles_up_to_a_limit() -> None:
    ticks = Ticks()
    endpoints = three(ticks)
    rests = []
    for _ in range(12):
        endpoints.failed(endpoints.all[0])
        rests.append(endpoints.all[0].rests_until - ticks.now)
    assert rests[:3] == [FIRST_REST_SECONDS, FIRST_REST_SECONDS * 2, FIRST_REST_SECONDS * 4]
    assert rests[-1] == LONGEST_REST_SECONDS
    endpoints.succeeded(endpoints.all[0], prefer=True)
    endpoints.failed(endpoints.all[0])
    assert endpoints.all[0].rests_until - ticks.now == FIRST_REST_SECONDS


def test_endpoint__in_words__does_not_show_its_address() -> None:
    assert "secret-key" not in repr(three(Ticks()).all)
