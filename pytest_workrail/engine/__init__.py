"""The engine: runs a compiled workflow. `core` and `events` at the bottom, `protocol` on top."""
