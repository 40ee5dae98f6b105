"""The tour and the guides, played on a local stack."""
