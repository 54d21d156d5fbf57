"""Runs of a workflow against a simulated agent, and what they leave behind."""
