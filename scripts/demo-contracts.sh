#!/bin/sh
# The two other agent contracts: a session of coordinated agents, and stateless blocks in lanes. Each is linted and run.
# Works on copies of the shipped fixtures, so the checkout stays as it is.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT
cp -R "$here/fixtures/team/full/." "$demo/team"
cp -R "$here/fixtures/blocks/in-lanes/." "$demo/blocks"
mkdir "$demo/scenarios"
cp -R "$here/fixtures/scenarios/team" "$here/fixtures/scenarios/blocks" "$demo/scenarios"
cd "$demo"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }
fail() { printf '$ %s\n' "$*"; "$@" && { echo "expected a finding" >&2; exit 1; } || true; }
play() { printf '$ pytest %s\n' "$*"; pytest -q -p no:cacheprovider "$@" > report 2>&1 || { cat report; exit 1; }; tail -n 2 report; }

# Some of what a golden tells about the run, a line each.
happened() {
  python - "scenarios/$1" "$2" <<'SHOW'
import json, sys
golden = json.load(open(sys.argv[1], encoding="utf-8"))
for e in golden.get("trace") or golden["events"]:
    if eval(sys.argv[2]):
        others = {name: value for name, value in {**e, **e.get("data", {})}.items() if name not in ("n", "event", "type", "data")}
        print(f"  {e['n']:>3} {e.get('event') or e['type']:24}", *(f"{name}={value}" for name, value in sorted(others.items())))
SHOW
}

say "1. A team session is clean; then the design is marked as approved without an answer"
run workrail-lint check --no-cache team
sed -i.old 's/"answer": "approved"/"answer": null/' team/.agents-work/*/status.json
rm team/.agents-work/*/status.json.old
fail workrail-lint check --no-cache --output-format concise team

say "2. The session as a simulation: the user requests a change, the Architect makes it, the user approves"
play scenarios/team/gate-correction.scenario.json
happened team/__goldens__/gate-correction.golden.json 'e["event"] in ("ask", "user_reply", "decision", "correction")'

say "3. Outputs of blocks are clean; then one of them claims a file outside its workspace"
run workrail-lint check --no-cache blocks
for output in blocks/.output/block-*.json; do
  sed -i.old 's/"filesModified": \[/"filesModified": ["..\/elsewhere.py", /; s/, \]/]/' "$output"
  rm "$output.old"
  break
done
fail workrail-lint check --no-cache --output-format concise blocks

say "4. Two lanes in real git worktrees edit one file: the first to finish wins, and the conflict is reported"
play scenarios/blocks/first-to-finish-wins.scenario.json
happened blocks/__goldens__/first-to-finish-wins.golden.json '"lane" in e["type"] or e["type"] == "fan_in"'
