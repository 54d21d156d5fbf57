"""Tokens: opaque strings with which an agent returns to a node of a run.

- `issuer.TokenIssuer` issues tokens and resolves them; callers need nothing else.
- `formats`: short tokens (a random number with a checksum, resolved by an index of alias records), long tokens
  (signed, with what they refer to as a binary payload in bech32m text), and the keys that sign both;
  `TokenError` is the closed set of reasons to reject a token.
"""
