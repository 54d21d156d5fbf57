"""Whatever happens between two runs, what the cache answers is what a fresh run finds."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from effort import times

from workrail_lint.cli import main
from workrail_lint.project import plan
from workrail_lint.systems.workrail.rules.samples import step, workflow

ROUNDS = times(12, deep=500)
CONFIGURATIONS = (
    "",
    'ignore = ["step-title-missing"]\n',
    'target = "ir"\n',
    '[severity]\nvariable-never-set = "error"\n',
    '[per-file-ignores]\n"workflows/a*.json" = ["ALL"]\n',
)
PROMPTS = (
    "Look at the change and write down what it does.",
    "Read docs/style.md before you write.",
    "Set `round` to the number of the round. TODO",
    "Ask the user whether to go on, then return to step 1.",
)


class Project:
    """A folder of workflows to which anything may happen."""

    def __init__(self, folder: Path, chance: random.Random, cache: Path) -> None:
        self.folder = folder
        self.chance = chance
        self.cache = cache
        (folder / "workflows").mkdir()
        for name in "abcd":
            self.edit(name)

    def edit(self, name: str) -> None:
        pick = self.chance.choice
        steps = [step(f"step-{at}", pick(PROMPTS)) for at in range(self.chance.randint(1, 4))]
        if pick((True, False)):
            steps[-1]["runCondition"] = {"var": pick(("round", "other")), "equals": 1}
        document = workflow(*steps, id=f"demo.{pick('abcd')}")
        if pick((True, False)):
            source = pick(("docs/style.md", "docs/none.md", "docs"))
            document["references"] = [
                {"id": "style", "title": "Style", "source": source, "purpose": "p", "authoritative": True}
            ]
        indent = pick((2, 4))  # the second is a finding whose fix holds the whole file
        text = json.dumps(document, indent=indent) + "\n"
        (self.folder / "workflows" / f"{name}.json").write_text(text if self.chance.random() < 0.9 else text[:-20])

    def happen(self) -> str:
        """Let something happen; what it was."""
        files = sorted((self.folder / "workflows").glob("*.json"))
        name = self.chance.choice("abcdef")
        match self.chance.randrange(11):
            case 0:
                self.edit(name)
                return f"edited {name}"
            case 1:
                self.chance.choice(files).rename(self.folder / "workflows" / f"{name}.json")
                return f"renamed to {name}"
            case 2:
                (self.folder / "workrail-lint.toml").write_text(self.chance.choice(CONFIGURATIONS))
                return "reconfigured"
            case 3:
                style = self.folder / "docs" / "style.md"
                style.parent.mkdir(exist_ok=True)
                style.unlink() if style.exists() else style.write_text("How we write.")
                return "a referenced file came or went"
            case 4:
                for kept in self.cache.rglob("*.json"):
                    data = bytearray(kept.read_bytes())
                    if data:
                        data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
                    kept.write_bytes(bytes(data))
                return "a bit of every kept file flipped"
            case 5:
                for kept in self.cache.rglob("*.json"):
                    kept.write_bytes(kept.read_bytes()[: self.chance.randrange(200)])
                return "every kept file was cut short"
            case 6:
                if len(files) > 2:
                    self.chance.choice(files).unlink()
                return "deleted"
            case 7:
                for path in files:
                    os.utime(path, ns=(0, self.chance.randrange(10**18)))
                return "touched"
            case 8:
                kept = sorted(self.cache.rglob("*.json"))
                datas = [path.read_bytes() for path in kept]
                self.chance.shuffle(datas)
                for path, data in zip(kept, datas, strict=True):
                    path.write_bytes(data)
                return "kept files changed places"
            case 9:
                for kept in self.cache.rglob("*.json"):
                    head, *lines = kept.read_bytes().split(b"\n")
                    entries = [line.partition(b"\t") for line in lines]
                    names = [name for name, _, _ in entries]
                    self.chance.shuffle(names)
                    swapped = [b"\t".join((name, entry)) for name, (_, _, entry) in zip(names, entries, strict=True)]
                    kept.write_bytes(b"\n".join([head, *swapped]))
                return "entries changed places"
            case _:
                return "nothing"


@pytest.mark.search
@pytest.mark.parametrize("seed", range(2))
def test_the_cached_answer_is_the_fresh_one(
    seed: int, tmp_path: Path, user_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path, chance, user_cache)

    def answer(*arguments: str) -> tuple[int, str]:
        code = main(["check", "--jobs", "1", *arguments])
        return code, capsys.readouterr().out

    happened = []
    for number in range(ROUNDS):
        happened.append(project.happen())
        if chance.random() < 0.1:
            monkeypatch.setattr(plan, "VERSION", f"9.{number}")
            happened.append("upgraded")
        one = str(chance.choice(sorted(Path("workflows").glob("*.json"))))
        for path in chance.sample((".", one), 2):
            look = [path, "--format", chance.choice(("json", "text", "sarif"))]
            fresh = answer("--no-cache", *look)
            assert answer(*look) == fresh, happened
            assert answer(*look) == fresh, happened
