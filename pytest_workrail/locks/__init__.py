"""Lock coverage: which design locks are enforced by tests that really ran, really asserted, and can really fail."""
