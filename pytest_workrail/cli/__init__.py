"""Command lines of the test bench."""
