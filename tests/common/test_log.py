"""The log's lines, wherever stderr goes when one is written."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import redirect_stderr

import pytest
import structlog
from service_common import log


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    before, handlers = structlog.get_config(), list(logging.root.handlers)
    yield
    structlog.configure(**before)
    logging.root.handlers = handlers


@pytest.mark.usefixtures("logging_as_before")
def test_line__after_the_stderr_of_the_start_was_closed__goes_to_the_present_one() -> None:
    with redirect_stderr(io.StringIO()) as first:
        log.configure("test")
        logger = log.get_logger(__name__)
        logger.warning("one")
    assert json.loads(first.getvalue())["event"] == "one"
    first.close()
    with redirect_stderr(io.StringIO()) as second:
        logger.warning("two")
        logging.getLogger("library").warning("three")
    assert [json.loads(line)["event"] for line in second.getvalue().splitlines()] == ["two", "three"]
