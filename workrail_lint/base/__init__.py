"""The foundation of all rooms: results, JavaScript semantics, canonical JSON, files, terminal output, wording."""
