"""Tokens: what an agent holds to come back to a node of a run.

- `issuer.TokenIssuer`: hands tokens out and resolves those that come back; the only part callers need
- `long`: self-contained signed tokens (`binary` payload, `bech32m` text)
- `short`: a nonce with a check, whose meaning is in an index of `aliases`
- `keys.KeyPair`: the current key signs, the current and the previous one verify
- `errors.TokenError`: the closed set of refusals
"""
