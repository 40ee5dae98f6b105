-- Webhooks of bounties that match a filter: their worker reads the summaries of pages, which are public.

GRANT USAGE ON SCHEMA app TO service_webhooks;
GRANT SELECT ON app.challenge_summaries TO service_webhooks;
