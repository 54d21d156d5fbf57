"""The documents of the team contract as typed nodes: generated classes, and what they can do."""
