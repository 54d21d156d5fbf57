"""Text to value, with positions found only for what is reported."""
