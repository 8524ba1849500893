package report

import (
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// qualityFigures returns a line for each figure of q with a value, and a line for each reason why figures
// have no value.
func qualityFigures(q *analyze.Quality) []string {
	var all []string
	if q.Counted > 0 {
		all = append(all, "ITL per token: the server counts the tokens of each event in "+plural.Grouped(q.Counted)+" of "+plural.GroupedOf(q.Requests, "request")+"; an event's time is spread over its tokens")
	}
	return append(all, figureLines(q.Figures, func(f *analyze.LevelFigure) string {
		switch f.Unit {
		case "tokens/s":
			return Number(f.Value) + " tokens/s"
		case "ratio":
			return Number(f.Value)
		}
		return count(f.Value)
	})...)
}

// qualitySettings says which parameters the figures of q have.
func qualitySettings(q *analyze.Quality) string {
	c := &q.Config
	return "quality: first token due after " + setTime(c.FirstTokenNS) + ", each later token after " + setTime(c.TokenNS) +
		"; target: fluidity " + setNumber(c.Target) + " for " + setNumber(100*c.Share) + " % of the requests; reader takes " + setTime(c.PaceNS) +
		" a token; a stall is a gap above " + setTime(c.StallNS) + " and " + setNumber(c.StallFactor) + " times the median gap"
}

// setTime formats a time that the user chose, with all its digits and no more: "50 ms".
func setTime(ns int64) string {
	sc := scaleFor(float64(ns))
	return setNumber(float64(ns)/sc.per) + " " + sc.name
}

// setNumber formats a number that the user chose. Twelve digits hide the error of 100 · 0.999.
func setNumber(v float64) string {
	return strconv.FormatFloat(v, 'g', 12, 64)
}

// qualityPositions returns the mean gaps by position; "" if there are none.
func qualityPositions(q *analyze.Quality, u *timeUnits) string {
	var parts []string
	for _, p := range q.Positions {
		name := strconv.FormatInt(p.From, 10)
		if p.To > p.From {
			name += "–" + strconv.FormatInt(p.To, 10)
		}
		parts = append(parts, name+": "+u.token.Span(p.MeanNS))
	}
	if parts == nil {
		return ""
	}
	return "mean ITL by position: " + strings.Join(parts, " · ")
}

func (w jsonLayout) quality(q *analyze.Quality) sheet.Object {
	if q == nil {
		return nil
	}
	c := &q.Config
	return sheet.Object{
		"settings", sheet.Object{
			"first_token_ns", c.FirstTokenNS, "token_ns", c.TokenNS, "fluidity_target", c.Target, "fluid_share", c.Share, "reader_pace_ns", c.PaceNS,
			"stall_ns", c.StallNS, "stall_factor", c.StallFactor,
		},
		// The numbers of requests whose token times are known, and of those in which the server counts the
		// tokens of each event.
		"requests", q.Requests, "requests_with_counted_events", sheet.Opt(q.Counted),
		"metrics", w.metrics(q.Metrics), "figures", jsonLevelFigures(q.Figures),
		"itl_by_position", sheet.List(q.Positions, func(p *quality.Position) sheet.Object {
			return sheet.Object{"from", p.From, "to", p.To, "n", p.N, "mean_ns", p.MeanNS}
		}),
	}
}

// csvQuality returns the lines of the metrics and the figures: "quality." and the key. A figure is in
// the column "mean"; the mean gap of a position has its number of gaps in "n".
func csvQuality(q *analyze.Quality) []csvLine {
	if q == nil {
		return nil
	}
	lines := append(csvMetrics(q.Metrics), csvLevelFigures("level", q.Figures)...)
	for _, p := range q.Positions {
		lines = append(lines, csvLine{
			name: "itl_ns_at_position_" + strconv.FormatInt(p.From, 10), unit: string(answer.Nanoseconds), n: strconv.FormatInt(p.N, 10), mean: float(p.MeanNS),
		})
	}
	return prefixed("quality.", lines)
}
