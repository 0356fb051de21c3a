"""One script for each schema that a release brought, named after the release."""
