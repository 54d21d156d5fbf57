"""The stateless block contract: studio definitions, what a block is given, and what it has to leave behind."""
