package perfanalyzer

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A Release is a release of perf_analyzer, by the name of the server container
// that it came with.
type Release struct {
	Name string // "24.03"
	// minor is the minor number of its version, 2.minor, which it writes into exports.
	minor int
	rules rules
}

// rules are the differences between the console reports of releases. The figures and
// the CSV file have not changed since 23.09.
type rules struct {
	// kindWord: the service kind is written "Triton", and not at all for servers
	// with the OpenAI API.
	kindWord bool
	// stabilizingLast: the settings name the stabilized metric last.
	stabilizingLast bool
	// counts: a level may be a number of requests, without windows.
	counts bool
	// latencyOnly: the settings name latency, also if more is stabilized.
	latencyOnly bool
	// total: a request count is announced as "Sending a total of N requests",
	// without the warm-up requests.
	total bool
	// perSeconds: the line of a request rate ends in "requests per seconds".
	perSeconds bool
	// blankAfterServer: the statistics of a model end with an empty line.
	blankAfterServer bool
}

// releases are in the order of time. Each has its changes to the rules of the
// release before.
var releases = makeReleases([]change{
	{"23.09", 38, nil},
	{"23.10", 39, nil},
	{"23.11", 40, nil},
	{"23.12", 41, nil},
	{"24.01", 42, nil},
	{"24.02", 43, nil},
	{"24.03", 44, nil},
	{"24.04", 45, nil},
	{"24.05", 46, func(r *rules) { r.kindWord, r.stabilizingLast, r.counts = false, false, true }},
	{"24.06", 47, nil},
	{"24.07", 48, func(r *rules) { r.latencyOnly = false }},
	{"24.08", 49, nil},
	{"24.09", 50, func(r *rules) { r.total = false }},
	{"24.10", 51, nil},
	{"24.11", 52, nil},
	{"24.12", 53, nil},
	{"25.01", 54, func(r *rules) { r.perSeconds = false }},
	{"25.02", 55, nil},
	{"25.03", 56, func(r *rules) { r.blankAfterServer = false }},
	{"25.04", 57, nil},
	{"25.05", 58, nil},
	{"25.06", 59, nil},
	{"25.07", 60, nil},
})

// A change is the change of a release to the rules; nil for none.
type change struct {
	name  string
	minor int
	apply func(*rules)
}

func makeReleases(table []change) []Release {
	r := rules{kindWord: true, stabilizingLast: true, latencyOnly: true, total: true, perSeconds: true, blankAfterServer: true}
	var all []Release
	for _, row := range table {
		if row.apply != nil {
			row.apply(&r)
		}
		all = append(all, Release{Name: row.name, minor: row.minor, rules: r})
	}
	return all
}

// latest returns the last release.
func latest() *Release { return &releases[len(releases)-1] }

// unnamed is the minor number of 24.08, which writes an empty version into its exports.
const unnamed = 49

// releaseOf returns the release that wrote a run, by the run's version: 24.03 wrote
// 2.44.0. A version between two releases counts as the later one. Without a version, for
// an unknown one, and for runs of pa-record, releaseOf returns the latest release.
func releaseOf(run *export.Run) *Release {
	if run.Meta != nil || run.Version == nil {
		return latest()
	}
	minor := unnamed
	if *run.Version != "" {
		parts := strings.Split(*run.Version, ".")
		n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if len(parts) < 2 || parts[0] != "2" || err != nil {
			return latest()
		}
		minor = n
	}
	for i := range releases {
		if minor <= releases[i].minor {
			return &releases[i]
		}
	}
	return latest()
}
