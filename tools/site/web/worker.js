// Runs the command line of workrail-lint on one file, away from the page, so that typing never waits.
import { loadPyodide } from "./pyodide.mjs";

const PROGRAM = `
import contextlib, io, os, shutil, sys
sys.path.insert(0, "/packages")
from workrail_lint.cli import main

def run(*arguments):
    output, remarks = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(remarks):
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code
    return code, output.getvalue(), remarks.getvalue()

def results(name, text):
    # A fresh folder: what one check left there, such as a configuration, must not count in the next.
    os.chdir("/")
    shutil.rmtree("/project", ignore_errors=True)
    os.makedirs(os.path.dirname(os.path.join("/project", name)))
    os.chdir("/project")
    with open(name, "w", encoding="utf-8", errors="replace", newline="") as file:
        file.write(text)
    _, findings, remarks = run("check", "--no-cache", "--", name)
    code, compiled, problems = run("compile", "--", name)
    drawn, _, _ = run("studio", "--output", "/page.html", "--", name)
    page = ""
    if drawn == 0:
        with open("/page.html", encoding="utf-8") as file:
            page = file.read()
    return [findings or remarks, page, compiled if code == 0 else problems]
`;

const started = (async () => {
  const python = await loadPyodide({ indexURL: new URL(".", import.meta.url).href });
  const packages = await (await fetch("packages.zip")).arrayBuffer();
  python.unpackArchive(packages, "zip", { extractDir: "/packages" });
  python.runPython(PROGRAM);
  return python.globals.get("results");
})();

started.catch((error) => postMessage({ failed: String(error) }));

onmessage = async (event) => {
  const { id, name, text } = event.data;
  try {
    const [findings, page, compiled] = (await started)(name, text).toJs();
    postMessage({ id, findings, page, compiled });
  } catch (error) {
    postMessage({ id, failed: String(error) });
  }
};
