"""The rules of the block contract, one class each."""
