"""`make docs`: the site of the docs, with a page for each rule, a demo of the studio and a playground.

python -m tools.site [--output DIR] [--without-playground]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tools.site.licences import licences
from tools.site.pages import ROOT, as_toml, place, site
from tools.site.playground import add_playground
from workrail_lint.cli import main as workrail_lint

WORK = ROOT / "build" / "site"
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TOGGLES = (("default", "dark", "lucide/moon"), ("slate", "light", "lucide/sun"))


def configuration() -> str:
    """Return the configuration of the generator: nothing that a page would fetch from somewhere else."""
    palettes = [
        f'[[project.theme.palette]]\nscheme = "{scheme}"\nmedia = "(prefers-color-scheme: {media})"\n'
        f'toggle = {{ icon = "{icon}", name = "Switch to {other} mode" }}'
        for (scheme, other, icon), media in zip(_TOGGLES, ("light", "dark"), strict=True)
    ]
    head = {
        "site_name": "workrail-lint",
        "site_description": "Linter, compiler and test bench for agent workflows in JSON",
        "docs_dir": "docs",
        "site_dir": "html",
        "use_directory_urls": False,
        "nav": site().navigation,
    }
    project = "\n".join(f"{name} = {as_toml(value)}" for name, value in head.items())
    features = as_toml(["content.code.copy", "navigation.prune", "navigation.top", "search.highlight"])
    theme = f'font = false\nlanguage = "en"\nfeatures = {features}'
    return "\n\n".join([f"[project]\n{project}", f"[project.theme]\n{theme}", *palettes]) + "\n"


def build(output: Path, *, has_playground: bool) -> int:
    """Write the site into a folder; return how many links lead nowhere, and say which."""
    shutil.rmtree(WORK, ignore_errors=True)
    for name, text in site().pages.items():
        path = WORK / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path in (ROOT / "docs").rglob("*"):  # pictures and data
        if path.is_file() and path.suffix != ".md":
            shutil.copy(path, WORK / "docs" / place(path.relative_to(ROOT).as_posix()))
    (WORK / "zensical.toml").write_text(configuration(), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=WORK, capture_output=True, text=True, check=False)
    report = _COLOUR.sub("", done.stdout + done.stderr)
    if done.returncode:
        sys.stderr.write(report)
        return 1
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(WORK / "html", output)
    demo = output / "demo"
    demo.mkdir()
    code = workrail_lint(["studio", str(ROOT / "fixtures"), "--output", str(demo / "index.html")])
    if has_playground:
        add_playground(output / "playground")
    (output / "licences.txt").write_text(licences(has_playground=has_playground), encoding="utf-8")
    return code


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.site", description="build the site of the docs")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", metavar="DIR")
    parser.add_argument("--without-playground", action="store_true", help="leave out what needs npm")
    args = parser.parse_args(arguments)
    return build(args.output, has_playground=not args.without_playground)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
