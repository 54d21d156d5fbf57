"""Drivers of the agent contracts besides WorkRail's, each in its own folder."""
