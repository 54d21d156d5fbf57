"""Which values make conditions come out as wanted, or the proof that none do.

One exact answer for all its users: the analysis, the automatic agent, coverage goals, scenario generation.
"""
