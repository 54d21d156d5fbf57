"""Simulated agents: they see what an agent sees, act by rules, and never reach a network.

- `auto.Auto`: the smallest valid output for whatever a step asks for
- `scripted.Scripted`: answers written down beforehand, strictly or with an agent for the rest
- `contrary`, `behaviours`: what agents get wrong, one name for each way
- `lossy.Lossy`: an agent whose calls and memory get lost
- `recorded.Recorded`: hands in again what another run handed in
"""
