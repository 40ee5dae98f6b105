"""The jobs of queue ``artifacts``."""

import os
from collections.abc import Mapping

from service_common.domain.envelope import CiphertextReference
from service_common.jobs.queues import check_message
from service_common.types import parse_bytes32

from service_api.config import read_config
from service_api.dependencies import make_dependencies
from service_api.usecases.ciphertexts import is_known_good, verify


def verify_artifact(received: Mapping[str, object]) -> str:
    """Hash one uploaded ciphertext to its end; idempotent per object generation."""
    check_message(received)
    deps = make_dependencies(read_config(os.environ))
    locator, length = str(received["storage_locator"]), received["byte_length"]
    if not isinstance(length, int):
        raise ValueError("byte_length is not a number")
    wanted = CiphertextReference(parse_bytes32(str(received["sha256"])), length, locator)
    try:
        info = deps.store.stat(locator)
        if info is None or is_known_good(deps, info, wanted):
            return "nothing to do"
        return verify(deps, info, wanted, lambda: True).value
    finally:
        deps.engine.dispose()
