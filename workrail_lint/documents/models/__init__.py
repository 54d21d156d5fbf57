"""Building blocks of document models: closed objects, scalars and unions that pydantic and JSON Schema agree on."""
