#!/bin/sh
# A workflow is run like code is tested: a blocker, its fix, a prompt that changed, and who notices.
# Works on a copy of a shipped fixture, so the checkout stays as it is. Every command is printed exactly as it runs.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
mkdir "$demo/workflows" "$demo/scenarios"
cp "$here/fixtures/workflows/code-review.json" "$demo/workflows"
cd "$demo"
touch pytest.ini
# On a build machine goldens are never written; this copy is nobody's build.
unset CI BUILD_NUMBER

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$1"; sh -c "$1"; }
finds() { printf '$ %s\n' "$1"; sh -c "$1" && { echo "expected it to find something" >&2; exit 1; } || true; }

say "1. A scenario: the agent forgets its verdict at first. What was expected is not what happens"
cat > scenarios/review.scenario.json <<'SCENARIO'
{
  "workflow": "../workflows/code-review.json",
  "agent": {
    "kind": "auto",
    "turns": [{"step": "give-verdict", "does": "missing_artifact"}]
  },
  "expect": {"blockers": []}
}
SCENARIO
run 'cat scenarios/review.scenario.json'
finds 'pytest -q scenarios'

say "2. The fix: say which blocker has to come, and keep what the agent sees as a golden"
run "sed -i.old 's/\"blockers\": \[\]/\"blockers\": [\"MISSING_REQUIRED_OUTPUT\"]/' scenarios/review.scenario.json"
run 'pytest -q --workrail-golden=new scenarios'

say "3. A prompt changes: the test says which step and which words"
run "sed -i.old 's/Read the whole change\./Skim the change./' workflows/code-review.json"
finds 'pytest -q scenarios'

say "4. The change waits until you decide: look at it, accept it, and all is well"
finds 'workrail-test golden diff'
run 'workrail-test golden accept --all'
run 'pytest -q scenarios --workrail-cov'
