package reading

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/trend"
)

// Labeled is an argument of trend: files, and the label of their point, "" for none.
type Labeled struct {
	Label string
	Files []string
}

// labelPattern matches the label of an argument with its =.
var labelPattern = regexp.MustCompile(`^[^/\\=*?\[\]]+=`)

// LabeledFiles returns the files of arguments such as v1.2=runs/v1.2.*.json. The name of
// an existing file has no label. Its errors are usage errors.
func LabeledFiles(args []string) ([]Labeled, error) {
	if len(args) == 0 {
		return nil, cmdline.Usagef("no runs given; give files, globs or LABEL=FILES")
	}
	var all []Labeled
	var seen []string
	for _, arg := range args {
		x := Labeled{}
		if _, err := os.Stat(arg); err != nil {
			if label := labelPattern.FindString(arg); label != "" {
				if label == arg {
					return nil, cmdline.Usagef("%s: give the files of the point after the =, such as %s'runs/*.json'", arg, label)
				}
				x.Label = strings.TrimSuffix(label, "=")
				arg = arg[len(label):]
			}
		}
		var err error
		if x.Files, err = settings.RunFiles([]string{arg}); err != nil {
			return nil, err
		}
		if _, err := settings.RunFiles(append(slices.Clone(seen), x.Files...)); err != nil {
			return nil, err
		}
		seen = append(seen, x.Files...)
		all = append(all, x)
	}
	return all, nil
}

// AddLabeled adds the files of such arguments to the files that the command reads.
func AddLabeled(c *cli.Context, args []string) {
	all, err := LabeledFiles(args)
	for _, a := range all {
		settings.ReadsArguments(c, a.Files, err)
	}
}

// Points reads the runs of each argument as a point.
func Points(c *cli.Context, args []Labeled, cfg analyze.Config) (groups []trend.Point, err error) {
	ahead := settings.OpenFiles{}
	defer func() { err = errors.Join(err, ahead.Close()) }()
	var all []settings.Input
	var counts []int // number of runs of each argument
	for _, a := range args {
		inputs, err := ahead.Inputs(c, "", a.Files, settings.ByRun)
		if err != nil {
			return nil, err
		}
		all, counts = append(all, inputs...), append(counts, len(inputs))
	}
	runs, err := Side(c, ahead, all, Figures(c, cfg))
	if err != nil {
		return nil, err
	}
	for i, a := range args {
		groups = append(groups, trend.Point{Label: a.Label, Runs: slices.Clone(runs[:counts[i]])})
		runs = runs[counts[i]:]
	}
	return groups, nil
}
