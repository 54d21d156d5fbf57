"""Drivers of the other agent contracts, each in its own folder."""
