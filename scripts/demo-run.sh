#!/bin/sh
# A workflow is run like code is tested: a blocker, its fix, a prompt that changed, and who notices.
# Works on a copy of a shipped fixture, so the checkout stays as it is.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
mkdir "$demo/workflows" "$demo/scenarios"
cp "$here/fixtures/workflows/code-review.json" "$demo/workflows"
cd "$demo"
# On a build machine goldens are never written; this copy is nobody's build.
unset CI BUILD_NUMBER

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
# What a report says about workflows, without pytest's own frame and without the same change once more as text.
tell() {
  sed '/^--- /,/^$/d' report | grep -v -e '\[100%\]$' -e '^FAILED ' -e '^==* \(FAILURES\|short test\)' -e '^__' -e '^$'
}
run() { printf '$ pytest %s\n' "$*"; pytest -q -p no:cacheprovider "$@" > report 2>&1; }
pass() { run "$@" || { cat report; exit 1; }; tell; }
fail() { run "$@" && { echo "expected a failure" >&2; exit 1; }; tell; }

say "1. A scenario: at first the agent submits no verdict, so the expectation fails"
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
cat scenarios/review.scenario.json
fail scenarios

say "2. The fix: expect that blocker, and store what the agent sees as a golden"
sed -i.old 's/"blockers": \[\]/"blockers": ["MISSING_REQUIRED_OUTPUT"]/' scenarios/review.scenario.json
pass --workrail-golden=new scenarios

say "3. A prompt changes: the golden shows which response, which field, which words"
sed -i.old 's/Read the whole change\./Skim the change./' workflows/code-review.json
fail scenarios

say "4. The change is pending until you decide: review it, accept it, and the test passes"
printf '$ workrail-test golden diff\n'
workrail-test golden diff || true
printf '$ workrail-test golden accept scenarios\n'
workrail-test golden accept scenarios
pass scenarios --workrail-cov
