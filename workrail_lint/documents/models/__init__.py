"""What document models are built from: closed objects, scalars and unions that pydantic and JSON Schema agree on."""
