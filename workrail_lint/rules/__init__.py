"""What a rule is, how rules are found, and how they are run in one walk."""
