"""The driver of the stateless block contract, and the design rules it is held to."""
