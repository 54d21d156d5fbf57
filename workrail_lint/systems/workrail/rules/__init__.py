"""The rules about workflows, one module per family."""
