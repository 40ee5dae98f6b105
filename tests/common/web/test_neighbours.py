"""Which deployments are named beside this one: no mistake of an operator sends people in a circle."""

import pytest
from bounty_protocol.types import Address
from bounty_protocol.wire.deployment import NeighbourDeployment
from service_common.config import ConfigurationError, EnvironmentReader
from service_common.web.neighbours import Neighbours, read_neighbours

OWN, NEXT, FORMER = (Address("0x" + digits * 20) for digits in ("ab", "cd", "ef"))
HOST = "bounties.example"


def read(**variables: str) -> Neighbours:
    reader = EnvironmentReader(variables)
    found = read_neighbours(reader, OWN, HOST)
    reader.check()
    return found


def test_neighbours__that_are_named__are_a_hub_and_an_origin_each() -> None:
    assert read() == Neighbours(None, None)
    named = read(
        SERVICE_SUCCESSOR=f"{NEXT.upper().replace('0X', '0x')} https://next.example",
        SERVICE_PREDECESSOR=f" {FORMER}  http://127.0.0.1:8080 ",
    )
    assert named.successor == NeighbourDeployment(NEXT, "https://next.example")
    assert named.predecessor == NeighbourDeployment(FORMER, "http://127.0.0.1:8080")


@pytest.mark.parametrize(
    "wrong",
    [
        NEXT,
        "https://next.example",
        f"https://next.example {NEXT}",
        f"{NEXT} next.example",
        f"{NEXT} javascript://next.example",
        f"{NEXT} https://next.example/path",
        f"{NEXT} https://user:secret@next.example",
        f"{NEXT} https://Next.example",
        f'{NEXT} https://next.example"><script>',
        f"{NEXT} https://next.example more",
        f"{NEXT[:-1]} https://next.example",
        f"{OWN} https://next.example",
        f"{NEXT} https://{HOST}",
    ],
)
@pytest.mark.parametrize("name", ["SERVICE_SUCCESSOR", "SERVICE_PREDECESSOR"])
def test_neighbour__that_is_malformed_or_this_deployment__is_refused_by_its_name(name: str, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is malformed: an?") as refused:
        read(**{name: wrong})
    assert "secret" not in str(refused.value)


def test_neighbours__that_are_one_hub__are_refused() -> None:
    named = f"{NEXT} https://next.example"
    with pytest.raises(ConfigurationError, match="SERVICE_PREDECESSOR is malformed: another Hub than that of"):
        read(SERVICE_SUCCESSOR=named, SERVICE_PREDECESSOR=named)
