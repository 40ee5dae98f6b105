"""How a command ends other than well.

A refusal or failure is one JSON line with ``code``, ``message`` and ``next_action`` and exit code 1. A
*refusal* is final for this state; a *failure* may pass when tried again.
"""

from bounty_protocol.errors import ServiceError


class CommandRefused(ServiceError):
    """The state, the input or a disagreement does not permit this."""


class CommandFailed(ServiceError):
    """Something did not answer, or not in time; running the command again continues."""


MALFORMED = "answer_malformed"
"""The code of an answer in another form than its route's."""
COHERENT = "Use the values of one deployment; service-cli doctor checks each value."
"""The next step where values of different deployments are mixed."""
