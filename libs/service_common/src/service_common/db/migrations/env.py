"""Run by Alembic with the connection that ``service_common.db.migrate`` passes in."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="schema_version",
    transaction_per_migration=True,  # what one locks is free again before the next starts
)
with context.begin_transaction():
    context.run_migrations()
