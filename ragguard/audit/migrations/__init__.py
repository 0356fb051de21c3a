"""Scripts for Alembic that move an audit store on from the schema of an earlier release."""
