"""The documents of the block contract as typed nodes: generated classes, what they can do, and how they are built."""
