"""Every fix on the public workflows: it removes its finding, adds none, and keeps the author's words."""

from __future__ import annotations

import random

import effort
import pytest
from fix_effects import files, wrong_fixes
from oracle import requires_oracle, shared_folder

pytestmark = requires_oracle


@pytest.mark.search
def test_fixes_of_public_workflows() -> None:
    shared = shared_folder()
    assert shared is not None
    sample = files(shared / "corpus")
    assert wrong_fixes(random.Random(7).sample(sample, effort.times(6, deep=len(sample)))) == []
