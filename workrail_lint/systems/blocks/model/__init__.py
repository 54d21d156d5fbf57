"""A workflow definition as typed nodes: generated classes, what they can do, and how they are built."""
