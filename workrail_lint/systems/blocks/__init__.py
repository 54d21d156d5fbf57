"""The stateless block contract: studio definitions, the inputs of a block, and the output that it must write."""
