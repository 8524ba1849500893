package settings

import (
	"os"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/internal/shell"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// maxRepeat bounds --repeat, so that a slip of the pen is an error and not a
// run of weeks. Every export lists all runs.
const maxRepeat = 1000

// A Run is one run of a series: its server, its files and the order of its levels.
type Run struct {
	Label   string   `json:"label,omitempty"` // of the server
	Exports []string `json:"profile_export_file"`
	CSV     string   `json:"csv_file,omitempty"` // of -f
	// Levels are named in the order of measurement; nil when that is the order of
	// the settings.
	Levels []string `json:"levels,omitempty"`

	Order  []int          `json:"-"` // for each of Levels its index in the settings'
	Server int            `json:"-"` // index in Settings.Servers; 0 if that is empty
	Of     runindex.Index `json:"-"`
}

// repeat reads how often, after the levels and exports, and plans the runs.
func (p *parser) repeat(s *Settings) {
	s.Interleave = p.c.Bool("interleave")
	repeated, labels := p.c.IsSet("repeat"), len(s.Servers) > 0
	if !repeated && !labels {
		if s.Interleave {
			p.errorf("--interleave needs --repeat: it is about the order of levels from run to run")
		}
		return
	}
	runs := 1
	if repeated {
		s.Repeat = p.c.Int("repeat")
		runs = s.Repeat
	}
	switch {
	case runs < 1 || runs > maxRepeat:
		p.errorf("--repeat %d: must be 1 to %d", s.Repeat, maxRepeat)
		return
	case s.Interleave && runs == 1:
		p.errorf("--interleave needs a --repeat of 2 or more: it is about the order of levels%s from run to run", andServers(labels))
	case labels && s.BinarySearch:
		p.errorf("--binary-search and -u %s=… exclude each other: every server would get other levels; search with each alone, and compare them with a list of levels", s.Servers[0].Label)
	case labels && s.AutoSweep:
		p.errorf("--auto-sweep and -u %s=… exclude each other: every server would get other rates; sweep with each alone, and compare them with --request-rate-range", s.Servers[0].Label)
	case s.BinarySearch:
		p.errorf("--binary-search and --repeat exclude each other: every run would measure other levels; search once, and repeat what is found with a list of levels")
	case s.Interleave && s.LevelPlan != nil && !labels:
		p.errorf("--interleave and --%s exclude each other: a search goes through the levels in their order; drop one", s.limitFlag())
	case s.Interleave && len(s.Levels) < 2 && !labels:
		p.errorf("--interleave: there is one level only; drop it, or give several levels")
	}
	s.planRuns(runs)
	p.checkNames(s)
}

// warmupRuns reads how many runs come first that are not recorded. sends says that requests are
// sent, not only written.
func (p *parser) warmupRuns(s *Settings, sends bool) {
	s.WarmupRuns = p.c.Int("warmup-runs")
	const each = "every run would measure other levels; warm up with --warmup-request-count or --warmup-duration"
	switch n := s.WarmupRuns; {
	case n < 0 || n > maxRepeat:
		p.errorf("--warmup-runs %d: must be 0 to %d", n, maxRepeat)
	case n == 0:
	case s.BinarySearch:
		p.errorf("--warmup-runs and --binary-search exclude each other: %s", each)
	case s.AutoSweep:
		p.errorf("--warmup-runs and --auto-sweep exclude each other: %s", each)
	case !s.StartAt.IsZero():
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
		s.Note("--warmup-runs: %s%s, in no export", plural.Of(n, "run"), against)
		if s.Restart {
			s.Warn("--warmup-runs with --prompts restart: recorded runs send the prompts of the warm-up runs again, which the server may have cached")
		}
	}
}

// WarmupsBefore returns the warm-up runs that come before the planned run of index i: of its server,
// if it is the first of that server; with --interleave before the first run those of all servers,
// in turns.
func (s *Settings) WarmupsBefore(i int) (all []Run) {
	run := s.PlannedRuns()[i]
	servers := []int{run.Server}
	switch {
	case run.Of.Index > 1 || s.Interleave && i > 0:
		return nil
	case s.Interleave:
		servers = servers[:0]
		for k := range max(len(s.Servers), 1) {
			servers = append(servers, k)
		}
	}
	for n := range s.WarmupRuns {
		for _, server := range servers {
			r := Run{Server: server, Of: runindex.Index{Index: n + 1, Of: s.WarmupRuns, Warmup: true}}
			if len(s.Servers) > 0 {
				r.Label = s.Servers[server].Label
				r.Of.Label = r.Label
			}
			all = append(all, r)
		}
	}
	return all
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
func (s *Settings) promptsOfLevels() {
	if len(s.Levels) < 2 && s.LevelPlan == nil && s.Repeat < 2 && s.WarmupRuns == 0 {
		return
	}
	if s.Prompts = FreshPrompts; s.Restart {
		s.Prompts = RestartPrompts
	}
}

// planRuns sets the runs: so many, or with labels so many of each. With --interleave the
// labels take turns, otherwise one follows the other.
func (s *Settings) planRuns(runs int) {
	servers := max(len(s.Servers), 1)
	for i := range runs * servers {
		round, server := i%runs, i/runs
		if s.Interleave {
			round = i / servers
			server = load.Turns(servers, round)[i%servers]
		}
		s.Runs = append(s.Runs, s.planRun(server, runindex.Index{Index: round + 1, Of: runs}))
	}
}

// planRun returns a run against a server.
func (s *Settings) planRun(server int, of runindex.Index) Run {
	r := Run{Server: server, Of: of}
	if len(s.Servers) > 0 {
		r.Label = s.Servers[server].Label
		r.Of.Label = r.Label
	}
	number := s.fileNumber(r.Label, strconv.Itoa(of.Index))
	for _, path := range s.exportPaths() {
		r.Exports = append(r.Exports, NumberedPath(path, number))
	}
	r.CSV = NumberedPath(s.rankedPath(s.CSV, strconv.Itoa(s.World.Rank)), number)
	if s.Interleave && len(s.Levels) > 1 && s.LevelPlan == nil {
		r.Order = load.Order(len(s.Levels), of.Index-1, s.Seed)
		for _, level := range r.Order {
			r.Levels = append(r.Levels, s.Levels[level].String())
		}
	}
	return r
}

// fileNumber returns what distinguishes the file names of a run: the label of the
// server, the number of the run, or both.
func (s *Settings) fileNumber(label, number string) string {
	switch {
	case s.Repeat == 0:
		return label
	case label == "":
		return number
	}
	return label + "." + number
}

// FilePattern returns the pattern that means the files of all runs with a label, for an
// export that has a name for each run; "" if no export has.
func (s *Settings) FilePattern(label string) string {
	for _, path := range s.exportPaths() {
		if NumberedPath(path, "*") != path {
			return NumberedPath(shell.Pattern(path), s.fileNumber(label, "*"))
		}
	}
	return ""
}

// checkNames refuses names of exports that change their format. It notes the files that a
// longer series left.
func (p *parser) checkNames(s *Settings) {
	for i := range max(len(s.Servers), 1) {
		label := ""
		if len(s.Servers) > 0 {
			label = s.Servers[i].Label
		}
		for _, path := range s.exportPaths() {
			next := NumberedPath(path, s.fileNumber(label, strconv.Itoa(s.Repeat+1)))
			if Stem(path) == path && Stem(next) != next {
				p.errorf("-u %s=…: with this label %s would be %s, of another format; give --profile-export-file a suffix such as .json", label, path, next)
				continue
			}
			if _, err := os.Stat(next); err == nil && next != path && s.Repeat > 0 {
				s.Note("%s is there, of a longer series: %s means it too", next, NumberedPath(path, s.fileNumber(label, "*")))
			}
		}
	}
}

// PlannedRuns returns the runs to make, at least one.
func (s *Settings) PlannedRuns() []Run {
	if len(s.Runs) == 0 {
		return []Run{{Exports: s.exportPaths(), CSV: s.rankedPath(s.CSV, strconv.Itoa(s.World.Rank))}}
	}
	return s.Runs
}

// NumberedPath puts a number before the suffix of an export's path: x.json becomes
// x.1.json. The path of a device or a pipe keeps its name, because it takes all exports
// one after the other. So do "" and "-".
func NumberedPath(path, number string) string {
	if path == "" || path == "-" || regular.IsSpecial(path) {
		return path
	}
	name := Stem(path)
	return name + "." + number + path[len(name):]
}

// Ordered returns levels, which are in the order of the settings, in the order in which
// the run measures them.
func (r *Run) Ordered(levels []load.Level) []load.Level {
	if r.Order == nil {
		return levels
	}
	ordered := make([]load.Level, len(levels))
	for i, level := range r.Order {
		ordered[i] = levels[level]
	}
	return ordered
}

// Listed is the reverse of Ordered: it returns measured levels in the order of the
// settings.
func (r *Run) Listed(levels []recorder.Level) []recorder.Level {
	if r.Order == nil {
		return levels
	}
	byIndex := make([]*recorder.Level, len(r.Order))
	for i := range levels {
		byIndex[r.Order[i]] = &levels[i]
	}
	var all []recorder.Level
	for _, l := range byIndex {
		if l != nil {
			all = append(all, *l)
		}
	}
	return all
}

// Stem returns the path of an export without the suffix that tells its format.
func Stem(path string) string { return strings.TrimSuffix(journal.PathFor(path), journal.Suffix) }
