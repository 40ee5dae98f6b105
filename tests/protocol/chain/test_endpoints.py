"""Which endpoint is asked first."""

from bounty_protocol.chain.endpoints import FIRST_REST_SECONDS, LONGEST_REST_SECONDS, Endpoints

from tests.clocks import HandClock

SECRET = "https://rpc.example/v3/secret-key"


def three(clock: HandClock) -> Endpoints:
    return Endpoints(
        [SECRET, "https://two.example", "https://three.example"], monotonic=clock.monotonic, jitter=lambda: 1.0
    )


def places(endpoints: Endpoints) -> list[int]:
    return [each.place for each in endpoints.in_order()]


def test_resting_endpoints_wake_if_others_are_few() -> None:
    clock = HandClock(100.0)
    endpoints = three(clock)
    for each in endpoints.all[:2]:
        endpoints.failed(each)
    assert [[each.place for each in endpoints.awake(least)] for least in (0, 1, 2, 3)] == [[3], [3], [3, 1], [3, 1, 2]]
    clock.time += FIRST_REST_SECONDS * 1.01
    assert [each.place for each in endpoints.awake(1)] == [1, 3, 2]


def test_useless_answer_costs_the_first_place() -> None:
    clock = HandClock(100.0)
    endpoints = three(clock)
    endpoints.distrusted()
    assert places(endpoints) == [2, 3, 1]
    clock.time += FIRST_REST_SECONDS * 1.01
    assert places(endpoints)[0] == 2
    for each in endpoints.all:
        endpoints.failed(each)
    endpoints.distrusted()
    assert places(endpoints)[0] != 2, "also while all rest"
    alone = Endpoints([SECRET])
    alone.distrusted()
    assert places(alone) == [1]


def test_rest_doubles_up_to_a_limit() -> None:
    clock = HandClock(100.0)
    endpoints = three(clock)
    rests = []
    for _ in range(12):
        endpoints.failed(endpoints.all[0])
        rests.append(endpoints.all[0].rests_until - clock.time)
    assert rests[:3] == [FIRST_REST_SECONDS, FIRST_REST_SECONDS * 2, FIRST_REST_SECONDS * 4]
    assert rests[-1] == LONGEST_REST_SECONDS
    endpoints.succeeded(endpoints.all[0], prefer=True)
    endpoints.failed(endpoints.all[0])
    assert endpoints.all[0].rests_until - clock.time == FIRST_REST_SECONDS


def test_endpoint__in_words__does_not_show_its_address() -> None:
    assert "secret-key" not in repr(three(HandClock()).all)
