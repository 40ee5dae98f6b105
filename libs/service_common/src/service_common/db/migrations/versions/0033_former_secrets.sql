-- Former secrets of a webhook that still sign besides the one in former_sealed_secret: it was rotated again within a day.
-- The release before signs with that one and the present.

ALTER TABLE webhooks.subscriptions ADD COLUMN older_sealed_secrets text[] NOT NULL DEFAULT '{}',
    ADD COLUMN older_until timestamp with time zone[] NOT NULL DEFAULT '{}';
