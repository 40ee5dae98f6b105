"""The chain as a service sees it: its settings, cached block facts, and contract wallets within budgets."""
