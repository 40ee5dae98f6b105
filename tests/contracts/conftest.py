"""What random histories asked of which EVM, shown after every run; and the end of the node that served them."""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.contracts import evm, node

_ASKED = "asked of an EVM"


@pytest.fixture(scope="session", autouse=True)
def the_node() -> Iterator[None]:
    yield
    node.stop()


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Count the calls of one test; the count stands in the summary of the run, also of a quiet one."""
    before = Counter(evm.CALLS)
    yield
    asked = (f"{number:,} {what}" for what, number in sorted((evm.CALLS - before).items()))
    request.node.user_properties.append((_ASKED, ", ".join(asked)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for group in terminalreporter.stats.values() for report in group]
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "teardown":
            for name, text in report.user_properties:
                if name == _ASKED:
                    terminalreporter.write_line(f"{report.nodeid.rpartition('::')[2]}: {text}")
