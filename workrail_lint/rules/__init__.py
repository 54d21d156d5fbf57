"""The rule kernel: what a rule is, the table of what is known about rules, and the one way they are run."""

import os

from workrail_lint.rules.base import Rule
from workrail_lint.rules.table import RuleTable

# The rules about the configuration, which belong to no contract.
CONFIGURATION: RuleTable[Rule] = RuleTable(__name__, os.path.dirname(__file__))
CONFIGURATION_FAMILIES = {"CF": "Configuration"}
