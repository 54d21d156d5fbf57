"""Workflow coverage: which behaviour of a workflow the runs of a test session have shown."""
