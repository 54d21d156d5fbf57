"""The documents of the team contract as pydantic models: the source of their JSON Schemas and contract packs."""
