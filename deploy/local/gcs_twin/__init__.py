"""A small fake of Google Cloud Storage for the local stack and the tests.

It supports what google-cloud-storage and signed URLs need of the JSON and XML interfaces, and enforces what the service
relies on: V4 signatures against one throw-away service account, expiry, create-only, exact length, generations.
What it does not have: several accounts, permissions, resumable or multipart uploads, versioning, lifecycle rules.
Run as ``python -m gcs_twin --port P --root DIR --credentials-file F --bucket NAME`` (PYTHONPATH=deploy/local).
"""
