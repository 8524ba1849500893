package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// qualityFigures returns a line for each figure of q with a value, and a line for each reason why figures
// have no value.
func qualityFigures(q *figure.Quality) []string {
	var all []string
	if q.Counted > 0 {
		all = append(all, "ITL per token: the server counts the tokens of each event in "+plural.Grouped(q.Counted)+" of "+plural.GroupedOf(q.Requests, "request")+"; an event's time is spread over its tokens")
	}
	return append(all, figureLines(q.Figures, func(f *figure.Figure) string {
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
func qualitySettings(q *figure.Quality) string {
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
func qualityPositions(q *figure.Quality, u *timeUnits) string {
	var parts []string
	for _, p := range q.Positions {
		name := strconv.FormatInt(p.From, 10)
		if p.To > p.From {
			name += "–" + strconv.FormatInt(p.To, 10)
		}
		parts = append(parts, name+": "+u.Token.Span(p.MeanNS))
	}
	if parts == nil {
		return ""
	}
	return "mean ITL by position: " + strings.Join(parts, " · ")
}

func (w jsonLayout) quality(q *figure.Quality) sheet.Object {
	if q == nil {
		return nil
	}
	c := &q.Config
	return sheet.Object{
		"settings",
		sheet.Object{
			"first_token_ns", c.FirstTokenNS, "token_ns", c.TokenNS, "fluidity_target", c.Target, "fluid_share", c.Share, "reader_pace_ns", c.PaceNS,
			"stall_ns", c.StallNS, "stall_factor", c.StallFactor,
		},
		// The numbers of requests whose token times are known, and of the requests in which the server counts the
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
func csvQuality(q *figure.Quality) []csvLine {
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

// economicsFigures returns a line for each figure with a value, and a line for each reason why figures
// have no value.
func economicsFigures(e *figure.Economics) []string {
	return figureLines(e.Figures, func(f *figure.Figure) string {
		text := amount(f.Unit, f.Value)
		if f.Bound > 0 {
			text += " ± " + amount(f.Unit, f.Bound)
		}
		if f.Key == figure.KeyEnergy {
			text += ", " + meters(e.Energy)
		}
		return text
	})
}

// economicsSettings says which parameters the figures of e have.
func economicsSettings(e *figure.Economics) string {
	text := "economics: the number of GPUs is not known"
	if e.GPUs > 0 {
		text = "economics: " + plural.Of(e.GPUs, "GPU")
		if e.Counted {
			text += " in the telemetry"
		}
	}
	c := &e.Config
	for _, x := range []struct {
		v              float64
		before, behind string
	}{{c.IdleWatts, "; ", " W of idle power a GPU subtracted"}, {c.GPUHourPrice, "; $", " for a GPU hour"}, {c.EnergyPrice, "; $", " for a kWh"}} {
		if x.v > 0 {
			text += x.before + strconv.FormatFloat(x.v, 'f', -1, 64) + x.behind
		}
	}
	return text
}

// meters counts the GPUs by where their energy comes from.
func meters(all []serverfigures.Energy) string {
	counters, sampled := 0, 0
	for i := range all {
		if all[i].Sampled {
			sampled++
		} else {
			counters++
		}
	}
	var parts []string
	if counters > 0 {
		parts = append(parts, "energy counters of "+plural.Of(counters, "GPU"))
	}
	if sampled > 0 {
		parts = append(parts, "power samples of "+plural.Of(sampled, "GPU"))
	}
	return "from " + strings.Join(parts, " and ")
}

// amount formats a figure with its unit.
func amount(unit string, v float64) string {
	switch unit {
	case "dollars":
		return "$" + Number(v)
	case "tokens/s": // the labels name it
		return Number(v)
	}
	return Number(v) + " " + unit
}

func jsonEconomics(e *figure.Economics) sheet.Object {
	if e == nil {
		return nil
	}
	from := ""
	switch {
	case e.Counted:
		from = "telemetry"
	case e.GPUs > 0:
		from = "flag"
	}
	c := &e.Config
	return sheet.Object{
		"settings",
		sheet.Object{"idle_watts", sheet.Opt(c.IdleWatts), "gpu_hour_price", sheet.Opt(c.GPUHourPrice), "energy_price_per_kwh", sheet.Opt(c.EnergyPrice)},
		"gpus", sheet.Opt(e.GPUs), "gpus_from", sheet.Opt(from), "start_ns", sheet.Opt(e.Span.FromNS), "end_ns", sheet.Opt(e.Span.ToNS),
		"figures", jsonLevelFigures(e.Figures), "energy", sheet.List(e.Energy, jsonEnergy),
	}
}

func jsonEnergy(g *serverfigures.Energy) sheet.Object {
	o := sheet.Object{"of", g.Of, "gpu", sheet.Opt(g.GPU), "host", sheet.Opt(g.Host), "metric", sheet.Opt(g.Metric), "from", meterName(g)}
	if g.NA == "" {
		o = append(o, "j", g.Joules, "error_bound_j", sheet.Opt(g.ErrorJoules))
	}
	return append(o, "covered", sheet.Opt(g.Covered), "n", g.N, "na", sheet.Opt(g.NA))
}

// meterName names the kind of samples that an energy is made of.
func meterName(g *serverfigures.Energy) string {
	if g.Sampled {
		return "power"
	}
	return "counter"
}

// csvEconomics returns the lines of the figures: "economics." and the key, with the value in the column
// "mean" and, where there is one, a line with the bound of its error. Then comes the energy of each GPU.
func csvEconomics(e *figure.Economics) []csvLine {
	if e == nil {
		return nil
	}
	var lines []csvLine
	add := func(name, unit, n, why string, value, bound float64) {
		l := csvLine{name: "economics." + name, unit: unit, n: n}
		if why == "" {
			l.mean = float(value)
		}
		lines = append(lines, l)
		if why == "" && bound > 0 {
			lines = append(lines, csvLine{name: l.name + ".error_bound", unit: unit, mean: float(bound)})
		}
	}
	if e.GPUs > 0 {
		add("gpus", "count", "", "", float64(e.GPUs), 0)
	}
	for i := range e.Figures {
		f := &e.Figures[i]
		add(f.Key, f.Unit, "", f.Why, f.Value, f.Bound)
	}
	for i := range e.Energy {
		g := &e.Energy[i]
		add(fmt.Sprintf("energy_j[%s]", g.Of), "J", strconv.Itoa(g.N), g.NA, g.Joules, g.ErrorJoules)
	}
	return lines
}

// timeFigure returns a function that formats the value of a figure, with the source of the figure if there is one.
func timeFigure(times TimeUnit) func(*figure.Figure) string {
	return func(f *figure.Figure) string {
		switch {
		case f.From != "":
			return Span(f.Value) + " (" + plain(f.From) + ")"
		case f.Unit == "ns":
			return Span(f.Value)
		}
		return Quantity(f.Unit, f.Value, times)
	}
}

// prefixLines returns the lines of p: the figures, and the number of their requests.
func prefixLines(p *figure.Prefix, times TimeUnit) []string {
	lines := groupLines("prefix cache", p.Figures, timeFigure(times))
	if p.Stated == 0 {
		return lines
	}
	return append(lines, statedRequests(p))
}

// ServerTimes returns a line for each level whose answers state a queue or a prefill: "server: queue 48.3 µs, prefill
// 20.0 ms of TTFT 24.2 ms (means)". Several levels have their names in front.
func ServerTimes(rep *analyze.Report) (lines []string) {
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		if e.Phases == nil || e.Phases.Waterfall == nil {
			continue
		}
		var times []string
		for _, p := range e.Phases.Waterfall.Parts {
			if p.Part == answer.QueuePart || p.Part == answer.PrefillPart {
				times = append(times, p.Part.String()+" "+Span(p.MeanNS))
			}
		}
		line := "server: " + strings.Join(times, ", ") + " of TTFT " + Span(e.Phases.Waterfall.MeanNS) + " (means)"
		if len(rep.Experiments) > 1 {
			line = LevelName(e) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// phaseLines returns the lines of p. If no time of the server is known, the line of the remaining time is left out: it
// could only say that the others are not known.
func phaseLines(p *figure.Phases, times TimeUnit) []string {
	lines := waterfallLines(p.Waterfall)
	rest := slices.IndexFunc(p.Figures, func(f figure.Figure) bool { return f.Key == figure.KeyOtherTime })
	phases, others := p.Figures[:rest+1], p.Figures[rest+1:]
	if commonReason(phases[:rest]) != "" {
		phases = phases[:rest]
	}
	lines = append(lines, groupLines("phases", phases, timeFigure(times))...)
	return append(lines, groupLines("speculation, cache by level, retractions", others, timeFigure(times))...)
}

// waterfallLines returns the shares of the parts of the TTFT, and what their figures leave open.
func waterfallLines(w *figure.Waterfall) []string {
	if w == nil {
		return nil
	}
	parts := make([]string, len(w.Parts))
	for i := range w.Parts {
		p := &w.Parts[i]
		parts[i] = p.Part.String() + " " + percent(p.Share)
		if p.N < w.Requests && p.Part != answer.WaitPart && p.Part != answer.ConnectPart {
			parts[i] += " (" + plural.GroupedOf(p.N, "request") + ")"
		}
	}
	text := "TTFT of " + plural.GroupedOf(w.Requests, "request") + ", mean " + Span(w.MeanNS) + ": " + strings.Join(parts, " · ")
	if w.Unstated > 0 {
		text += "; " + plural.Grouped(w.Unstated) + " more " + plural.Form(w.Unstated, "states", "state") + " no time before their first token"
	}
	return append([]string{text}, WaterfallNotes(w)...)
}

// WaterfallNotes returns what the parts of the TTFT leave open: how many requests state more time than passed.
func WaterfallNotes(w *figure.Waterfall) (lines []string) {
	if w.Below > 0 {
		lines = append(lines, "the rest is below 0 in "+plural.GroupedOf(w.Below, "request")+", at least "+Span(float64(w.LeastNS))+"; the clocks explain "+
			Span(w.BoundNS)+" of a request, and "+plural.Grouped(w.Below-w.Beyond)+" of the requests")
	}
	return lines
}

// audioLines returns the lines of a. A real-time factor is no share.
func audioLines(a *figure.Audio, times TimeUnit) []string {
	format := timeFigure(times)
	return groupLines("audio", a.Figures, func(f *figure.Figure) string {
		if f.Key == figure.KeyAudioRTF {
			return Number(f.Value)
		}
		return format(f)
	})
}

// statedRequests counts the requests of p.
func statedRequests(p *figure.Prefix) string {
	text := "cached tokens stated by " + plural.GroupedOf(p.Stated, "answer")
	if p.Unstated > 0 {
		text += ", not by " + plural.Grouped(p.Unstated)
	}
	return text
}

// prefixBuckets returns a row for each bucket of p.
func prefixBuckets(p *figure.Prefix, u TimeUnit) sheet.Table {
	g := newGrid(1, 1)
	if len(p.Buckets) == 0 {
		return g
	}
	g.Add("uncached input tokens", "n", "cached", "TTFT mean "+u.name, "p50 "+u.name, "p90 "+u.name)
	for _, b := range p.Buckets {
		g.Add(tokenRange(b.From, b.To), strconv.Itoa(b.N), percent(b.CachedShare), Number(b.Mean/u.per), Number(b.P50/u.per), Number(b.P90/u.per))
	}
	return g
}

// tokenRange returns "8–15", or "1" for a range of one number.
func tokenRange(from, to int64) string {
	name := strconv.FormatInt(from, 10)
	if to > from {
		name += "–" + strconv.FormatInt(to, 10)
	}
	return name
}

// jsonLevelFigures returns figures by key.
func jsonLevelFigures(all []figure.Figure) map[string]sheet.Object {
	figures := map[string]sheet.Object{}
	for i := range all {
		f := &all[i]
		value := any(f.Value)
		if f.Why != "" {
			value = nil
		}
		figures[f.Key] = sheet.Object{"value", value, "error_bound", sheet.Opt(f.Bound), "unit", f.Unit, "from", sheet.Opt(f.From), "why", sheet.Opt(f.Why)}
	}
	return figures
}

func jsonStated(x *figure.Stated) sheet.Object {
	if x == nil {
		return nil
	}
	return sheet.Object{"figures", jsonLevelFigures(x.Figures)}
}

// csvStated returns the lines of the rates over the duration that the file states: "stated." and the key.
func csvStated(x *figure.Stated) (lines []csvLine) {
	if x == nil {
		return nil
	}
	for i := range x.Figures {
		if f := &x.Figures[i]; f.Why == "" {
			lines = append(lines, csvLine{name: "stated." + f.Key, unit: f.Unit, mean: float(f.Value)})
		}
	}
	return lines
}

func jsonPrefix(p *figure.Prefix) sheet.Object {
	if p == nil {
		return nil
	}
	return sheet.Object{
		"stated", p.Stated, "unstated", p.Unstated, "figures", jsonLevelFigures(p.Figures),
		"by_uncached_tokens", sheet.List(p.Buckets, func(b *figure.PrefixBucket) sheet.Object {
			return sheet.Object{
				"from", b.From, "to", b.To, "n", b.N, "cached_share", b.CachedShare, "ttft_mean_ns", b.Mean, "ttft_p50_ns", b.P50, "ttft_p90_ns", b.P90,
			}
		}),
	}
}

func (w jsonLayout) phases(p *figure.Phases) sheet.Object {
	if p == nil {
		return nil
	}
	return sheet.Object{"metrics", w.metrics(p.Metrics), "waterfall", jsonWaterfall(p.Waterfall), "figures", jsonLevelFigures(p.Figures)}
}

func jsonWaterfall(w *figure.Waterfall) sheet.Object {
	if w == nil {
		return nil
	}
	return sheet.Object{
		"requests", w.Requests, "requests_without", w.Unstated, "ttft_ns", w.MeanNS, "clock_bound_ns", w.BoundNS,
		"rest_below_0", w.Below, "rest_beyond_clock_bound", w.Beyond, "least_rest_ns", w.LeastNS,
		"parts", sheet.List(w.Parts, func(p *figure.TTFTPart) sheet.Object {
			return sheet.Object{"part", p.Part.String(), "n", p.N, "mean_ns", p.MeanNS, "share", p.Share}
		}),
	}
}

// csvLevelFigures returns a line for each figure, with the value in the column "mean".
func csvLevelFigures(group string, all []figure.Figure) (lines []csvLine) {
	for i := range all {
		f := &all[i]
		l := csvLine{name: group + "." + f.Key, unit: f.Unit}
		if f.Why == "" {
			l.mean = float(f.Value)
		}
		lines = append(lines, l)
	}
	return lines
}

// csvPrefix returns the lines of the figures, "prefix." and the key, and of the mean TTFT by uncached
// input tokens.
func csvPrefix(p *figure.Prefix) []csvLine {
	if p == nil {
		return nil
	}
	lines := csvLevelFigures("prefix", p.Figures)
	for _, b := range p.Buckets {
		lines = append(lines, csvLine{name: "prefix.ttft_ns_at_uncached_tokens_" + strconv.FormatInt(b.From, 10), unit: "ns", n: strconv.Itoa(b.N), mean: float(b.Mean)})
	}
	return lines
}

// csvPhases returns the lines of the metrics, of the figures, and of the parts of the TTFT: "phases." and the key.
func csvPhases(p *figure.Phases) []csvLine {
	if p == nil {
		return nil
	}
	lines := append(csvMetrics(p.Metrics), csvLevelFigures("level", p.Figures)...)
	if w := p.Waterfall; w != nil {
		for i := range w.Parts {
			x := &w.Parts[i]
			name := "ttft_part." + strings.ReplaceAll(x.Part.String(), " ", "_")
			lines = append(lines,
				csvLine{name: name, unit: string(answer.Nanoseconds), n: strconv.Itoa(x.N), mean: float(x.MeanNS)},
				csvLine{name: name + ".share", unit: string(answer.Ratio), n: strconv.Itoa(w.Requests), mean: float(x.Share)})
		}
	}
	return prefixed("phases.", lines)
}

// imageFigure returns a function that formats the value of a figure of images.
func imageFigure(times TimeUnit) func(*figure.Figure) string {
	return func(f *figure.Figure) string {
		switch f.Unit {
		case "bytes":
			return Number(f.Value) + " bytes"
		case "count":
			return count(f.Value)
		}
		return Quantity(f.Unit, f.Value, times)
	}
}

func jsonImages(g *figure.Images) sheet.Object {
	if g == nil {
		return nil
	}
	return sheet.Object{"figures", jsonLevelFigures(g.Figures)}
}

// csvImages returns the lines of the figures: "images." and the key.
func csvImages(g *figure.Images) []csvLine {
	if g == nil {
		return nil
	}
	return csvLevelFigures("images", g.Figures)
}

func (w jsonLayout) audio(a *figure.Audio) sheet.Object {
	if a == nil {
		return nil
	}
	return sheet.Object{"metrics", w.metrics(a.Metrics), "figures", jsonLevelFigures(a.Figures)}
}

// csvAudio returns the lines of the metrics and the figures: "audio." and the key.
func csvAudio(a *figure.Audio) []csvLine {
	if a == nil {
		return nil
	}
	return prefixed("audio.", append(csvMetrics(a.Metrics), csvLevelFigures("level", a.Figures)...))
}

func jsonRealtime(x *figure.Realtime) sheet.Object {
	if x == nil {
		return nil
	}
	return sheet.Object{"requests", x.Requests, "figures", jsonLevelFigures(x.Figures)}
}

// csvRealtime returns the lines of the figures: "realtime." and the key.
func csvRealtime(x *figure.Realtime) []csvLine {
	if x == nil {
		return nil
	}
	return csvLevelFigures("realtime", x.Figures)
}

// prefixed puts a text before the names of lines.
func prefixed(text string, lines []csvLine) []csvLine {
	for i := range lines {
		lines[i].name = text + lines[i].name
	}
	return lines
}
