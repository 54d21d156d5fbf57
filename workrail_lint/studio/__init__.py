"""The studio: plain data about a project in, one self-contained HTML page out. Nothing here runs a workflow."""
