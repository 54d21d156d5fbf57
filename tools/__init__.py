"""Generators of shipped data: schemas, the catalog, rule metadata and docs. Not part of the wheel."""
