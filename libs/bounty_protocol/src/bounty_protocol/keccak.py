"""Keccak-256 as Ethereum uses it (not SHA3-256): the one place that names the library."""

from tiny_keccak import keccak256

__all__ = ["keccak256"]
