"""Everything that can be forged: by the node, by the API, or by one operator of both.

A subject is something that an endpoint shows; each of its forgeries is one that a hostile endpoint can keep up. A
forgery is either other answers, or a branch of the chain that the node shows and that has never happened afterwards,
with everything that follows from it. What the API derives from the chain it derives from the same forgery where it is
the API that forges.
"""

from collections.abc import Mapping
from typing import Final

from tests.cli.plays.forgeries import bounties, chain, conditions, service
from tests.cli.plays.forgeries.subject import Forgery, Subject

SUBJECTS: Final[Mapping[str, Subject]] = {
    subject.name: subject for subject in (*chain.SUBJECTS, *bounties.SUBJECTS, *conditions.SUBJECTS, *service.SUBJECTS)
}
FORGERIES: Final[Mapping[str, Forgery]] = {
    str(each): each for subject in SUBJECTS.values() for each in subject.forgeries
}
"""Every way to forge any subject, by its name."""
