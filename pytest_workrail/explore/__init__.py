"""Searches over runs: scenarios that cover a workflow, how good scenarios are, and runs that break a promise."""
