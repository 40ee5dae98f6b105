"""Sealed Submissions: upload URLs, envelopes, and their content for those who may read it."""
