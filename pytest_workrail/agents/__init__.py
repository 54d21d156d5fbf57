"""Simulated agents: they see what an agent sees, act by rules, and never reach a network.

- `correct.Auto`: the smallest valid output for whatever a step asks for
- `scripted`: answers written down (`Scripted`), prepared by step (`Prepared`), or taken from another run (`Recorded`)
- `misbehaving`: what agents get wrong, one name for each way, and agents whose calls and memory get lost (`Lossy`)
"""
