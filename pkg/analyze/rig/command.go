package rig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
)

// A Command records planned runs.
type Command struct {
	// Line is the command, for a shell; "" if there is none.
	Line string
	// Runs is the number of runs that it records of each side.
	Runs int
	// AllSides says that it records all sides, from servers with labels; else it records one side.
	AllSides bool
	// Files is a pattern of the exports of the planned side, quoted for a shell.
	Files string
	// Pilot says that its runs show how much runs differ, for another plan.
	Pilot bool
	// Hidden says that it lacks credentials, which the recording hid.
	Hidden bool
}

// plannedFile is the name of the exports that a Command writes: planned.1.json, planned.2.json, ….
const plannedFile = "planned.json"

// hidden stands in recorded arguments for a credential.
const hidden = "[redacted]"

// dropped are the flags of a recording that its repetition replaces or does not need; each has a value.
var dropped = []string{"repeat", "profile-export-file", "artifact-dir", "html"}

// searching are the flags that look for loads, which exclude --repeat.
var searching = []string{"auto-sweep", "binary-search"}

// command fills Command and NoCommand.
func (res *Plan) command() {
	meta := res.Set.Runs[0].Header.Meta
	k, pilot := res.runs(), false
	for _, l := range res.Levels {
		pilot = pilot || len(l.Levels) < MinRuns
	}
	if pilot {
		k = pilotRuns
	}
	switch {
	case len(res.Set.Refused()) > 0:
		res.NoCommand = "the runs are not comparable"
	case k == 0 && res.tooMany():
		res.NoCommand = "more than " + plural.GroupedOf(MaxRunsASide, "run") + " a side are needed; plan for a larger --change, or record longer runs"
	case k == 0:
		res.NoCommand = "no number of runs is known for every level"
	case meta == nil || len(meta.Args) == 0:
		res.NoCommand = "the files do not hold a command line of pa-record; record the runs with the same settings"
	case meta.Shard != nil || meta.Merged != nil:
		res.NoCommand = "several processes recorded the runs; start each of them with --repeat " + strconv.Itoa(k)
	default:
		words, why := repeated(meta.Args, k)
		line := sanitize.Command(words...)
		if why == "" && sanitize.Text(line) != line {
			why = "the recorded command line holds control characters"
		}
		if res.NoCommand = why; why == "" {
			c := Command{Line: line, Runs: k, Files: "planned.*.json", Pilot: pilot, Hidden: strings.Contains(line, hidden)}
			if r := meta.Repeat; r != nil && r.Label != "" {
				c.AllSides, c.Files = true, "planned."+sanitize.Pattern(r.Label)+".*.json"
			}
			c.Files = sanitize.ShellWord(c.Files)
			res.Command = c
		}
	}
}

// repeated returns the command line of a recording, changed so that it makes k runs; why says why it cannot.
func repeated(args []string, k int) (words []string, why string) {
	words = []string{"pa-record"}
	for i := 1; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		if abbreviates(name, searching) {
			return nil, "the recording searched for its loads with " + name + ", which excludes --repeat; repeat the loads that it found"
		}
		if abbreviates(name, dropped) {
			if !joined {
				i++ // its value
			}
			continue
		}
		words = append(words, args[i])
	}
	return append(words, "--repeat", strconv.Itoa(k), "--profile-export-file", plannedFile), ""
}

// abbreviates reports whether an argument names one of the flags, in full or as pa-record takes it shortened.
func abbreviates(arg string, flags []string) bool {
	name := strings.TrimLeft(arg, "-")
	return name != arg && slices.ContainsFunc(flags, func(flag string) bool {
		return name == flag || len(name) > 2 && strings.HasPrefix(flag, name)
	})
}
