"""The playground: the linter, compiler and studio in the browser, on Python for WebAssembly."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from tools.site.pages import ROOT

WEB = Path(__file__).parent / "web"
RUNTIME = WEB / "node_modules" / "pyodide"
_RUNTIME_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
# What the linter imports and the runtime lacks, all of it written in Python. `regex`, which is not, has a stand-in.
LIBRARIES = ("pluggy", "rfc8785")
EXAMPLE = "fixtures/broken/CD023-variable-never-set.json"


def add_playground(folder: Path) -> None:
    """Write the page, the runtime, and our package with what it needs into a folder of the site."""
    if not RUNTIME.is_dir():
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=WEB, check=True)
    folder.mkdir(parents=True)
    for name in ("index.html", "playground.css", "playground.js", "worker.js"):
        shutil.copy(WEB / name, folder)
    for name in _RUNTIME_FILES:
        shutil.copy(RUNTIME / name, folder)
    (folder / "example.json").write_bytes((ROOT / EXAMPLE).read_bytes())
    _write_packages(folder / "packages.zip")
    (folder / "build.json").write_text(json.dumps({"example": EXAMPLE}) + "\n", encoding="utf-8")


def _write_packages(target: Path) -> None:
    """Write one archive with all modules that the page imports."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for name in sorted(source.namelist()):
                if name.startswith("workrail_lint/"):
                    packed.writestr(zipfile.ZipInfo(name), source.read(name))
            for library in LIBRARIES:
                for file in sorted(distribution(library).files or (), key=str):
                    if file.suffix == ".py":
                        packed.writestr(zipfile.ZipInfo(str(file)), file.read_binary())
            packed.writestr(zipfile.ZipInfo("regex.py"), (WEB / "regex.py").read_bytes())
