"""Releases of the public engine as data: what each one added, removed and changed, and how a document is judged by one.

Nothing of this is loaded for the newest release, which the shipped schema and catalog describe.
"""
