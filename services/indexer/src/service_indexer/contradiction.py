"""The error for an answer that contradicts a block header, or itself."""

from bounty_protocol.chain.rpc import ChainUnavailable


class Contradiction(ChainUnavailable):
    """An answer that cannot be true of the chain whose header is held. It is used for nothing and counts against its
    endpoint; another endpoint is queried, and where there is none, the answer is as good as none."""
