"""Pydantic models of the document kinds: the single source of the shipped JSON Schemas."""
