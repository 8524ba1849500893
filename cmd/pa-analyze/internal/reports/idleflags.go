package reports

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-analyze/internal/settings"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
)

// noteIdleFlags names the flags of the command line that have no effect on a report of these inputs.
func noteIdleFlags(c *cli.Context, inputs []report.Input, format string) {
	if c.String("tokenizer") != "" {
		for i := range inputs {
			if why := uncounted(inputs[i].Report); why != "" {
				settings.Notef(c, "%s: --tokenizer has no effect: %s", inputs[i].Name, why)
			}
		}
	}
	paused := func(in report.Input) bool {
		return slices.ContainsFunc(in.Report.Experiments, func(x analyze.Experiment) bool { return len(x.Pauses) > 0 })
	}
	if c.Bool("without-pauses") && !slices.ContainsFunc(inputs, paused) {
		settings.Notef(c, "--without-pauses has no effect: no level was paused")
	}
	if c.Bool("percentiles") && format != "table" {
		settings.Notef(c, "--percentiles has no effect: it belongs to --format table; --format %s has percentiles of its own", format)
	}
	if c.Bool("all-warnings") && (format == "json" || format == "markdown") {
		settings.Notef(c, "--all-warnings has no effect: --format %s holds the same warnings without it", format)
	}
}

// uncounted returns why the tokenizer counted no tokens of any level; "" if it counted some.
func uncounted(rep *analyze.Report) string {
	usage, responses := false, false
	for i := range rep.Experiments {
		switch rep.Experiments[i].TokenSource {
		case answer.TokenTokenizer, answer.TokenMixed:
			return ""
		case answer.TokenUsage, answer.TokenStated:
			usage = true
		case answer.TokenResponses:
			responses = true
		}
	}
	switch {
	case usage:
		return "the file holds the numbers of tokens; --token-source tokenizer counts them in the texts"
	case responses:
		return "the file holds no texts of answers to count tokens in"
	}
	return "" // there are no numbers of tokens, and a warning says why
}
