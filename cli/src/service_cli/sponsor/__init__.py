"""Funding a bounty that somebody else signed: the sponsor pays the gas, and nothing else."""
