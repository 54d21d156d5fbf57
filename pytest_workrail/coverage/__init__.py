"""Coverage: of workflows by runs, and of design locks by tests."""
