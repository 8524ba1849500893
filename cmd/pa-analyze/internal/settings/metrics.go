package settings

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/report"
)

// metricWords says what the groups of metrics hold.
var metricWords = []struct{ group, words string }{
	{"quality", "fluidity, token deadlines, stalls, interactivity"},
	{"economics", "energy and price of a token"},
	{"prefix", "prefix cache, and TTFT by uncached tokens"},
	{"phases", "queue, prefill and decode at the server"},
}

// MetricsFlag returns --metrics.
func MetricsFlag() cli.Flag {
	var known []string
	for _, m := range metricWords {
		known = append(known, m.group+" ("+m.words+")")
	}
	return &cli.StringFlag{Name: "metrics", Usage: "also show the metrics of `GROUP`: " + strings.Join(known, ", ") + "; several with commas", Category: "Metrics"}
}

// metricGroups reads --metrics: the groups of metrics that were asked for.
func metricGroups(c *cli.Context) (map[string]bool, error) {
	var known []string
	for _, m := range metricWords {
		known = append(known, m.group)
	}
	asked := map[string]bool{}
	text := c.String("metrics")
	if text == "" {
		return asked, nil
	}
	for group := range strings.SplitSeq(text, ",") {
		group = strings.TrimSpace(group)
		if !slices.Contains(known, group) {
			return nil, cmdline.Usagef("--metrics %q: give one or several of %s", text, strings.Join(known, ", "))
		}
		asked[group] = true
	}
	return asked, nil
}

// RowGroups reads --metrics for a list of requests.
func RowGroups(c *cli.Context) (report.Groups, error) {
	asked, err := metricGroups(c)
	return report.Groups{Quality: asked["quality"], Economics: asked["economics"], Prefix: asked["prefix"], Phases: asked["phases"]}, err
}
