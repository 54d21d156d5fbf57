"""The rules of the team contract, one module for each group of codes."""
