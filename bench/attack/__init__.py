"""Attacks on a stack on this machine: their requests, how these are sent, and a sink to send them to."""
