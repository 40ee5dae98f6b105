"""What was verified or parsed does not change afterwards."""

import dataclasses
import importlib
import pkgutil

import bounty_protocol.auth
import pytest

ROOM = [
    importlib.import_module(f"bounty_protocol.auth.{module.name}")
    for module in pkgutil.iter_modules(bounty_protocol.auth.__path__)
]
VALUES = sorted(
    {
        kind
        for module in ROOM
        for kind in vars(module).values()
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__
    },
    key=lambda kind: kind.__name__,
)


def test_values__of_this_room__are_found() -> None:
    assert {"Approval", "ApprovalHeader", "Authority", "ReceivedRequest", "RequestToSign", "VerifiedRequest"} <= {
        kind.__name__ for kind in VALUES
    }


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_value__of_any_kind__is_frozen_and_takes_no_other_attribute(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__slots__" in vars(kind)
