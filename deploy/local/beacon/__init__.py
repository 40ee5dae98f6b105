"""A beacon for the local stack: drand's HTTP API and quicknet's scheme, from a seed, on one machine.

The same seed, genesis and period give the same chain everywhere, and no signature is served before its round is due. It
is no beacon for money: anyone who has the seed knows every future signature.
"""

from beacon.chain import LocalBeacon, make_local_beacon

__all__ = ["LocalBeacon", "make_local_beacon"]
