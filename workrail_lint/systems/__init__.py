"""One folder for each agent contract, all behind the interface in `base`; they never import one another."""
