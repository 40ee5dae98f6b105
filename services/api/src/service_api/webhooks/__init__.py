"""Webhooks: registration by signed requests, and the worker that sends facts to those who registered."""
