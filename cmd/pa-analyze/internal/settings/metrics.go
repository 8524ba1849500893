package settings

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// metricWords says what the groups of metrics hold.
var metricWords = []struct{ group, words string }{
	{"quality", "fluidity, token deadlines, stalls, interactivity"},
	{"economics", "energy and price of a token"},
	{"prefix", "prefix cache, and TTFT by uncached tokens"},
	{"phases", "queue, prefill and decode at the server"},
}

// MetricsFlag returns --metrics for these groups.
func MetricsFlag(groups ...string) cli.Flag {
	var known []string
	for _, m := range metricWords {
		if slices.Contains(groups, m.group) {
			known = append(known, m.group+" ("+m.words+")")
		}
	}
	usage := "also show the metrics of `GROUP`: " + strings.Join(known, ", ")
	if len(known) > 1 {
		usage += "; several with commas"
	}
	return &cli.StringFlag{Name: "metrics", Usage: usage, Category: "Metrics"}
}

// metricGroups reads --metrics: the groups of metrics that were asked for, among those whose flags the
// command has.
func metricGroups(c *cli.Context) (map[string]bool, error) {
	var known []string
	flags := FlagNames(c.Command.Flags)
	if slices.Contains(flags, "due-first") {
		known = append(known, "quality")
	}
	if slices.Contains(flags, "gpu-hour-price") {
		known = append(known, "economics", "prefix", "phases")
	}
	asked := map[string]bool{}
	text := c.String("metrics")
	if text == "" {
		return asked, nil
	}
	for group := range strings.SplitSeq(text, ",") {
		group = strings.TrimSpace(group)
		if !slices.Contains(known, group) {
			if len(known) == 1 {
				return nil, cmdline.Usagef("--metrics %q: give %s", text, known[0])
			}
			return nil, cmdline.Usagef("--metrics %q: give one or several of %s", text, strings.Join(known, ", "))
		}
		asked[group] = true
	}
	return asked, nil
}
