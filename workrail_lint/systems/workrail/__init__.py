"""The WorkRail workflow system: document model, catalog, compiler, hashes, lockfile."""
