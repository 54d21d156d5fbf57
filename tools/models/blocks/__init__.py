"""The documents of the block contract as pydantic models: the source of their JSON Schemas and contract packs."""
