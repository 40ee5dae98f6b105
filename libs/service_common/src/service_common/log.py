"""Structured logs: one JSON object per line on stderr.

Every line carries time, level, service, event, and the correlation id of the request or job it belongs to.
Callers never log bodies, signatures, keys, RPC addresses or the WSGI environ.
"""

import io
import logging
import sys
from contextlib import suppress
from contextvars import ContextVar
from typing import Final

import structlog

correlation_id: Final[ContextVar[str]] = ContextVar("correlation_id", default="")

_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def parse_level(text: str) -> int:
    """Parse a log level by name; ``ValueError`` names the accepted ones."""
    if text.lower() not in _LEVELS:
        raise ValueError(f"a log level is one of {', '.join(_LEVELS)}")
    return _LEVELS[text.lower()]


class _Stderr(io.StringIO):
    """The present ``sys.stderr`` when a line is written: who captures it puts another in its place, and closes that.

    A line that cannot be written, as on a full disk, is dropped: whoever logs goes on.
    """

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def configure(service: str, level: int = logging.INFO) -> None:
    """Set up this process's log; libraries' own warnings and errors are logged in the same form."""

    def add_context(_logger: object, _name: str, line: structlog.typing.EventDict) -> structlog.typing.EventDict:
        line["service"] = service
        if identifier := correlation_id.get():
            line["correlation_id"] = identifier
        return line

    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        add_context,
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(sort_keys=True)],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=_Stderr()),
    )
    handler = logging.StreamHandler(_Stderr())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(sort_keys=True),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)


def get_logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """Return a logger for one module."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(module=name)
    return logger
