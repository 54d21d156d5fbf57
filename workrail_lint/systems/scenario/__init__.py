"""Scenario files: a simulated run, written down. Reading and checking them needs no pytest."""
