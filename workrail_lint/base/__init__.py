"""What every room stands on: results, JavaScript semantics, canonical JSON, files, terminal output, wording."""
