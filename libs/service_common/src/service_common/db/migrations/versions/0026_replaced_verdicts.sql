-- Facts of webhooks state which Verdict they replaced: their worker reads the Verdicts, which are public.

GRANT SELECT ON hub_index.verdicts TO service_webhooks;
