"""The one JSON Schema engine: the validator, its dialect, the messages, and what a schema says about a place."""
