#!/usr/bin/env bash
# Records runs against a server and compares them with the accepted runs.
#
#   examples/ci/gate.sh --service-kind openai -u localhost:8000 -m my-model --streaming \
#       --concurrency-range 8 --request-count 200
#
# The arguments are flags of pa-record. Settings are environment variables:
#
#   GATE_BASELINE          directory of accepted runs (baseline)
#   GATE_OUT               directory of this job's exports and reports (gate-out)
#   GATE_REPEAT            number of runs (5)
#   GATE_ALLOW             change for the worse that passes (0%)
#   GATE_LABEL             name of the runs in the baseline, such as a commit
#   GATE_ACCEPT            true: add the runs to the baseline unless they are worse
#   GATE_INCONCLUSIVE      pass, fail, or 4: what to do if the gate cannot tell (pass, with a warning)
#   GATE_REQUIRE_BASELINE  true: fail if there is no accepted run yet
#
# Writes GATE_OUT/run.N.json, report.txt, summary.md, junit.xml, and page.html with charts of
# the runs. Exit codes: 0 passed, 1 not recorded or not comparable, 2 wrong usage, 3 worse, or no
# accepted run where GATE_REQUIRE_BASELINE asks for one, 4 cannot tell with GATE_INCONCLUSIVE=4.
set -euo pipefail

baseline=${GATE_BASELINE:-baseline}
out=${GATE_OUT:-gate-out}
repeat=${GATE_REPEAT:-5}

mkdir -p "$out"
rm -f "$out"/run.json "$out"/run.[0-9]*.json # an earlier job may have recorded more runs
pa-record "$@" --repeat "$repeat" --quiet --overwrite --profile-export-file "$out/run.json"

runs=("$out"/run.[0-9]*.json)
rm -f "$out/page.html"
pa-analyze html -o "$out/page.html" "${runs[@]}" || true # a look at the runs is no part of the gate
if [ -n "${GATE_LABEL:-}" ]; then
	label=${GATE_LABEL//[^A-Za-z0-9._-]/_}
	runs=("${runs[@]/#/$label=}")
fi
options=(--baseline "$baseline" --allow "${GATE_ALLOW:-0%}" --inconclusive "${GATE_INCONCLUSIVE:-pass}" --overwrite)
if [ "${GATE_REQUIRE_BASELINE:-false}" = true ]; then
	options+=(--require-baseline)
fi

# The reports come before the exit, because a job that fails needs them most.
rm -f "$out/report.txt" "$out/summary.md" "$out/junit.xml"
status=0
pa-analyze trend "${options[@]}" -o "$out/report.txt" "${runs[@]}" 2>"$out/messages.txt" || status=$?
cat "$out/messages.txt" >&2
if [ -e "$out/report.txt" ]; then
	cat "$out/report.txt"
	for format in markdown:summary.md junit:junit.xml; do
		pa-analyze trend "${options[@]}" --format "${format%%:*}" -o "$out/${format#*:}" "${runs[@]}" 2>"$out/further.txt" || true
	done
else
	echo "**The gate could not compare the runs: exit code $status.**" >"$out/summary.md"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -e "$out/report.txt" ] && [ "${GATE_ACCEPT:-false}" = true ]; then # it accepts no runs that it should not
	status=0
	pa-analyze trend "${options[@]}" --accept "${runs[@]}" >/dev/null 2>"$out/further.txt" || status=$?
	grep -vxFf "$out/messages.txt" "$out/further.txt" >&2 || true # the first call printed the others
fi
exit "$status"
