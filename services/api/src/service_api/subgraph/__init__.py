"""GraphQL over ``hub_index`` in The Graph's dialect: entities, filters, execution with limits."""
