"""The sources of the shipped catalog, and what builds it."""
