"""The language server: what an editor asks about a document while it is being written.

Everything but `protocol` works on plain texts, offsets and records, so that it can be tested without an editor.
"""
