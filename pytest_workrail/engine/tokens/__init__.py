"""Tokens: opaque strings with which an agent returns to a node of a run.

- `issuer.TokenIssuer` issues tokens and resolves them; callers need nothing else.
- `long`: signed tokens that contain what they refer to (a binary payload in `bech32m` text).
- `short`: a random number with a checksum; what it refers to is kept in an index of alias records.
- `keys.KeyPair`: the current key signs; the current and the previous key verify.
- `ports.TokenError`: the closed set of reasons to reject a token.
"""
