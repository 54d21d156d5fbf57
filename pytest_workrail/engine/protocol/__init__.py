"""The tools an agent talks to: start, continue, checkpoint, resume, list, inspect."""
