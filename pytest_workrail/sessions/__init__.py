"""Sessions of the public engine and of our own: read, shown, turned into tests, replayed. None is ever written to."""
