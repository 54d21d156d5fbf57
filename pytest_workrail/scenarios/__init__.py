"""Scenario files as tests: read with positions, played against the engine, held against what they expect."""
