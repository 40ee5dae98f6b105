"""USDC's own compiled contracts, against which the local token is tested."""
