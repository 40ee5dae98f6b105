"""For how long a chain may make no block, or leave out what it is sent, and what its users reckon with.

Everyone has these figures from here: the services, the client, the pages and their documents (docs/client.md).
"""

from typing import Final

STANDS_STILL_SECONDS: Final = 120
"""How old a chain's newest block may be; a chain with an older one counts as one that stands still. Indexing and the
clocks of two machines are no further apart than that either, when all is well."""
BASE_FINALITY_SECONDS: Final = 1_200
"""The most seconds from a block of Base to its finality."""
BASE_OUTAGE_SECONDS: Final = 116 * 60
"""The longest that Base made no block until now: 116 minutes on 25 June 2026."""
SEQUENCER_WINDOW_SECONDS: Final = 3_600 * 12
"""How long a rollup's sequencer may leave out a deposit: 3,600 blocks of the settlement layer, of 12 seconds each
(``seq_window_size`` of the OP stack's rollup configuration)."""
