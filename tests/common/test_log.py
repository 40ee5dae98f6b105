"""A line that cannot be written is dropped, and whoever logs goes on."""

import errno
import io
import logging
import sys

import pytest
from service_common import log


class Full(io.StringIO):
    """Standard error on a full disk."""

    tried = 0

    def write(self, text: str) -> int:
        self.tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("stream", [Full(), io.StringIO()], ids=["full", "closed"])
def test_line_that_cannot_be_written_is_dropped(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    log.configure("test")
    monkeypatch.setattr(sys, "stderr", stream)
    if not isinstance(stream, Full):
        stream.close()
    log.get_logger(__name__).warning("ours")
    logging.getLogger("library").error("a library's")
    assert not isinstance(stream, Full) or stream.tried >= 2
