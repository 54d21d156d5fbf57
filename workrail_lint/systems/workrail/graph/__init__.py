"""A compiled workflow as a diagram: what runs after what, under which condition, how often."""
