package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxRepeat bounds --repeat, so that a slip of the pen is an error and not a
// run of weeks. Every export lists all runs.
const maxRepeat = 1000

// A plannedRun is one run of a series: its server, its files and the order of its levels.
type plannedRun struct {
	runIndex
	Exports []string `json:"profile_export_file"`
	CSV     string   `json:"csv_file,omitempty"` // of -f
	// Levels are named in the order of measurement; nil when that is the order of
	// the settings.
	Levels []string `json:"levels,omitempty"`

	order  []int // for each of Levels its index in settings.levels
	server int   // index in settings.Servers; 0 if that is empty
}

// repeat reads how often, after the levels and exports, and plans the runs.
func (p *parser) repeat(s *settings) {
	repeated, labels := p.c.IsSet("repeat"), len(s.Servers) > 0
	if !repeated && !labels {
		p.refuse(s.Interleave, "--interleave needs --repeat: it changes the order of levels from run to run")
		return
	}
	runs := 1
	if repeated {
		runs = s.Repeat
	}
	switch {
	case runs < 1 || runs > maxRepeat:
		p.errorf("--repeat %d: must be 1 to %d", s.Repeat, maxRepeat)
		return
	case s.Interleave && runs == 1:
		p.errorf("--interleave needs a --repeat of 2 or more: it changes the order of levels%s from run to run", andServers(labels))
	case labels && s.BinarySearch:
		p.errorf("--binary-search and -u %s=… exclude each other: every server would get other levels; search with each alone, and compare them with a list of levels", s.Servers[0].Label)
	case labels && s.AutoSweep:
		p.errorf("--auto-sweep and -u %s=… exclude each other: every server would get other rates; sweep with each alone, and compare them with --request-rate-range", s.Servers[0].Label)
	case s.BinarySearch:
		p.errorf("--binary-search and --repeat exclude each other: every run would measure other levels; search once, then repeat the levels that you need")
	case s.Interleave && s.levelPlan != nil && !labels:
		p.errorf("--interleave and --%s exclude each other: a search goes through the levels in their order; drop one", s.limitFlag())
	case s.Interleave && len(s.levels) < 2 && !labels:
		p.errorf("--interleave: there is one level only; drop it, or give several levels")
	}
	s.planRuns(runs)
	p.checkNames(s)
}

// warmupRuns reads how many runs come first that are not recorded. sends says that requests are
// sent, not only written.
func (p *parser) warmupRuns(s *settings, sends bool) {
	const each = "every run would measure other levels; warm up with --warmup-request-count or --warmup-duration"
	switch n := s.WarmupRuns; {
	case n < 0 || n > maxRepeat:
		p.errorf("--warmup-runs %d: must be 0 to %d", n, maxRepeat)
	case n == 0:
	case s.BinarySearch:
		p.errorf("--warmup-runs and --binary-search exclude each other: %s", each)
	case s.AutoSweep:
		p.errorf("--warmup-runs and --auto-sweep exclude each other: %s", each)
	case !s.startAt.IsZero():
		p.errorf("--warmup-runs and --start-at exclude each other: only one start is known beforehand; use --barrier")
	case sends:
		var against string
		switch {
		case len(s.Servers) > 1 && s.Interleave:
			against = " of each server before the first recorded run"
		case len(s.Servers) > 1:
			against = " of each server before its first recorded run"
		case s.Repeat > 1:
			against = " before the first recorded run"
		default:
			against = " before the recorded run"
		}
		s.note("--warmup-runs: %s%s, in no export", plural.Of(n, "run"), against)
		if s.restart {
			s.warn("--warmup-runs with --prompts restart: recorded runs send the prompts of the warm-up runs again, which the server may have cached")
		}
	}
}

// andServers returns what --interleave orders beside levels.
func andServers(labels bool) string {
	if labels {
		return " and servers"
	}
	return ""
}

// promptsOfLevels notes how prompts are taken, if that makes a difference: with several
// levels or runs, warm-up runs among them.
func (s *settings) promptsOfLevels() {
	if len(s.levels) < 2 && s.levelPlan == nil && s.Repeat < 2 && s.WarmupRuns == 0 {
		return
	}
	if s.Prompts = freshPrompts; s.restart {
		s.Prompts = restartPrompts
	}
}

// planRuns sets the runs: so many, or with labels so many of each. With --interleave the
// labels take turns, otherwise one follows the other.
func (s *settings) planRuns(runs int) {
	servers := max(len(s.Servers), 1)
	for i := range runs * servers {
		round, server := i%runs, i/runs
		if s.Interleave {
			round = i / servers
			server = load.Turns(servers, round)[i%servers]
		}
		s.Runs = append(s.Runs, s.planRun(server, runIndex{number: round + 1, total: runs}))
	}
}

// planRun returns a run against a server.
func (s *settings) planRun(server int, index runIndex) plannedRun {
	r := plannedRun{server: server, runIndex: index}
	if len(s.Servers) > 0 {
		r.Label = s.Servers[server].Label
	}
	number := s.fileNumber(r.Label, strconv.Itoa(r.number))
	for _, path := range s.exportPaths() {
		r.Exports = append(r.Exports, numberedPath(path, number))
	}
	r.CSV = numberedPath(s.rankedPath(s.CSV, strconv.Itoa(s.world.Rank)), number)
	if s.Interleave && len(s.levels) > 1 && s.levelPlan == nil {
		r.order = load.Order(len(s.levels), r.number-1, s.Seed)
		for _, level := range r.order {
			r.Levels = append(r.Levels, s.levels[level].String())
		}
	}
	return r
}

// fileNumber returns what distinguishes the file names of a run: the label of the
// server, the number of the run, or both.
func (s *settings) fileNumber(label, number string) string {
	switch {
	case s.Repeat == 0:
		return label
	case label == "":
		return number
	}
	return label + "." + number
}

// filePattern returns the pattern that means the files of all ranks of the runs with a label and a
// number, "*" for all numbers, for an export that has a name for each run; "" if no export has.
func (s *settings) filePattern(label, number string) string {
	for i, path := range s.exportPaths() {
		if numberedPath(path, "*") == path {
			continue
		}
		path = sanitize.Pattern(path)
		if s.world.Several() {
			path = s.rankedPath(sanitize.Pattern(s.Exports[i]), "*")
		}
		return numberedPath(path, s.fileNumber(label, number))
	}
	return ""
}

// checkNames refuses names of exports that change their format. It notes the files that a
// longer series left.
func (p *parser) checkNames(s *settings) {
	for i := range max(len(s.Servers), 1) {
		label := ""
		if len(s.Servers) > 0 {
			label = s.Servers[i].Label
		}
		for _, path := range s.exportPaths() {
			next := numberedPath(path, s.fileNumber(label, strconv.Itoa(s.Repeat+1)))
			if exportStem(path) == path && exportStem(next) != next {
				p.errorf("-u %s=…: with this label %s would be %s, of another format; give --profile-export-file a suffix such as .json", label, path, next)
				continue
			}
			if _, err := os.Stat(next); err == nil && next != path && s.Repeat > 0 {
				s.note("%s exists from a longer series, and %s would match it too", next, numberedPath(path, s.fileNumber(label, "*")))
			}
		}
	}
}

// plannedRuns returns the runs to make, at least one.
func (s *settings) plannedRuns() []plannedRun {
	if len(s.Runs) == 0 {
		return []plannedRun{{Exports: s.exportPaths(), CSV: s.rankedPath(s.CSV, strconv.Itoa(s.world.Rank))}}
	}
	return s.Runs
}

// numberedPath puts a number before the suffix of an export's path: x.json becomes
// x.1.json. The path of a device or a pipe keeps its name, because it takes all exports
// one after the other. So do "" and "-".
func numberedPath(path, number string) string {
	if path == "" || path == "-" || disk.IsSpecial(path) {
		return path
	}
	name := exportStem(path)
	return name + "." + number + path[len(name):]
}

// exportStem returns the path of an export without the suffix that tells its format.
func exportStem(path string) string { return strings.TrimSuffix(journal.PathFor(path), journal.Suffix) }

// runIndex counts the runs of --repeat, from 1; with labels the runs of each label. The
// zero value is a run without --repeat and label.
type runIndex struct {
	Label         string `json:"label,omitempty"` // of the server; "" if it has none
	number, total int
	// warmup says that the run is one of --warmup-runs, which are counted by themselves.
	warmup bool
}

// String returns "run 2 of 3", with a label "old, run 2 of 3", or "old" if that is the
// label's only run. A warm-up run is "warm-up run 1 of 1".
func (r runIndex) String() string {
	run := fmt.Sprintf("run %d of %d", r.number, r.total)
	if r.warmup {
		run = "warm-up " + run
	}
	switch {
	case r.Label == "":
		return run
	case r.total == 1 && !r.warmup:
		return r.Label
	default:
		return r.Label + ", " + run
	}
}

// prefix returns "run 2 of 3: ", with a label "old, run 2 of 3: "; "" if there is only
// one run.
func (r runIndex) prefix() string {
	if r.total < 2 && r.Label == "" && !r.warmup {
		return ""
	}
	return r.String() + ": "
}

// title returns "Run 2 of 3", the heading of a run's figures; with a label as String does.
func (r runIndex) title() string {
	if r.Label != "" {
		return r.String()
	}
	text := r.String()
	return strings.ToUpper(text[:1]) + text[1:]
}

// place returns "run: 2", with a label "server: old, run: 2".
func (r runIndex) place() string {
	if r.Label != "" {
		return fmt.Sprintf("server: %s, run: %d", r.Label, r.number)
	}
	return fmt.Sprintf("run: %d", r.number)
}

// short returns "run 2/3", with a label "old 2/3"; "" if there is only one run. Of a warm-up run it
// returns String.
func (r runIndex) short() string {
	switch {
	case r.warmup:
		return r.String()
	case r.total < 2:
		return r.Label
	case r.Label != "":
		return fmt.Sprintf("%s %d/%d", r.Label, r.number, r.total)
	}
	return fmt.Sprintf("run %d/%d", r.number, r.total)
}
