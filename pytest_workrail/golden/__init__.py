"""Goldens: what an agent sees in a run, as a file that is compared, reviewed and never lost."""
