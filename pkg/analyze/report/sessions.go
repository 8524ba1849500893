package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// sessionLines returns the lines of x: how the sessions ended, the figures, what the cache could have held.
func sessionLines(x *figure.Sessions, times TimeUnit) []string {
	var lines []string
	if x.Requests > 0 {
		text := "sessions: " + x.Ended()
		if x.Single > 0 {
			text += "; " + plural.GroupedOf(x.Single, "request") + " of no session"
		}
		lines = append(lines, text)
	}
	text := func(f *figure.Figure) string { return Quantity(f.Unit, f.Value, times) }
	hits := slices.IndexFunc(x.Figures, func(f figure.Figure) bool { return f.Key == figure.KeyPossibleHitRate })
	lines = append(lines, groupLines("sessions", x.Figures[:hits], text)...)
	lines = append(lines, groupLines("possible hits of a prefix cache", x.Figures[hits:], text)...)
	if f := x.InFlight; f != nil && f.Most > 0 {
		lines = append(lines, "most sessions in flight: "+strconv.Itoa(f.Most))
	}
	return append(lines, cacheLines(&x.Cache)...)
}

// cacheLines says whose requests have possible hits, and divides the gap to the measured ones.
func cacheLines(c *figure.PossibleCache) []string {
	if c.Why != "" {
		return nil
	}
	text := "possible hits of " + plural.GroupedOf(c.Known, "prompt") + " with " + plural.GroupedOf(c.Possible.Prompt, "token") + " in blocks of " + strconv.Itoa(c.Block)
	if c.Answers {
		text += ", answers fill the cache too"
	}
	if c.Unknown > 0 {
		text += "; " + plural.GroupedOf(c.Unknown, "prompt") + " not known"
	}
	lines := []string{text}
	gap := c.Gap()
	if gap == nil {
		return lines
	}
	var parts []string
	for _, p := range gap {
		parts = append(parts, percent(p.Share)+" "+p.Reason)
	}
	return append(lines, "possible − measured: "+strings.Join(parts, " · "))
}

// SessionTables returns the tables of sessions for a page: by depth, and by turn.
func SessionTables(x *figure.Sessions, u Units) []sheet.Table {
	all := []sheet.Table{sessionDepths(x, u.Request), sessionTurns(x, u.Token)}
	for i, caption := range [...]string{"Finished sessions, and their agents by depth", "Requests by turn"} {
		all[i].Caption = caption
	}
	return slices.DeleteFunc(all, func(t sheet.Table) bool { return len(t.Rows) == 0 })
}

// SessionTreeTable returns a table with a row for each session of x.Trees.
func SessionTreeTable(x *figure.Sessions, u TimeUnit) sheet.Table {
	g := newGrid(2, 1)
	if len(x.Trees) == 0 {
		return g
	}
	g.Add("session", "state", "start s", "requests", "agents", "depth", "job "+u.name, "model "+u.name, "tool "+u.name, "TTFT sum "+u.name,
		"input", "output", "cached", "possible")
	first := x.Trees[0].Span.FromNS
	for i := range x.Trees {
		s := &x.Trees[i]
		row := []string{
			plain(s.ID), strings.ReplaceAll(string(s.State), "_", " "), Number(float64(s.Span.FromNS-first) / 1e9),
			strconv.Itoa(s.Turns), strconv.Itoa(s.Session.Agents), strconv.Itoa(s.Depth),
		}
		for _, v := range [...]export.Int{export.IntOf(s.JobNS), export.IntOf(s.ModelNS), export.IntOf(s.ToolNS()), s.WaitNS} {
			text := "-"
			if v.OK {
				text = Number(float64(v.V) / u.per)
			}
			row = append(row, text)
		}
		for _, v := range [...]export.Int{s.InputTokens, s.OutputTokens, s.CachedTokens, s.PossibleTokens} {
			row = append(row, cmp.Or(whole(v), "-"))
		}
		g.Add(row...)
	}
	return g
}

// sessionDepths returns a row for each depth.
func sessionDepths(x *figure.Sessions, u TimeUnit) sheet.Table {
	g := newGrid(1, 2)
	if len(x.Depths) == 0 {
		return g
	}
	g.Add("agents", "n", "job time", "", "", "model time", "tool time", "TTFT sum", "turns", "input", "output")
	g.Add("", "", "mean "+u.name, "p50 "+u.name, "p99 "+u.name, "mean "+u.name, "mean "+u.name, "mean "+u.name, "mean", "tokens", "tokens")
	for i := range x.Depths {
		d := &x.Depths[i]
		name := "whole sessions"
		if d.Depth > 0 {
			name = "depth " + strconv.Itoa(d.Depth)
		}
		row := []string{name, strconv.Itoa(d.N)}
		cell := func(key string, of func(*summary.Summary) float64, per float64) {
			row = append(row, meanOr(d.Values.Value(key), of, per))
		}
		cell("job_time_ns", mean, u.per)
		cell("job_time_ns", percentile(50), u.per)
		cell("job_time_ns", percentile(99), u.per)
		cell("model_time_ns", mean, u.per)
		cell("tool_time_ns", mean, u.per)
		cell("server_wait_ns", mean, u.per)
		cell("session_turns", mean, 1)
		cell("session_input_tokens", mean, 1)
		cell("session_output_tokens", mean, 1)
		g.Add(row...)
	}
	return g
}

// sessionTurns returns a row for each turn, or range of turns.
func sessionTurns(x *figure.Sessions, u TimeUnit) sheet.Table {
	g := newGrid(1, 2)
	if len(x.Turns) == 0 {
		return g
	}
	g.Add("turn", "n", "TTFT", "", "", "ITL", "", "input", "cached", "uncached", "output")
	g.Add("", "", "mean "+u.name, "p50 "+u.name, "p99 "+u.name, "mean "+u.name, "p99 "+u.name, "mean", "mean", "mean", "mean")
	for i := range x.Turns {
		t := &x.Turns[i]
		row := []string{tokenRange(int64(t.From), int64(t.To)), strconv.Itoa(t.N)}
		cell := func(key string, of func(*summary.Summary) float64, per float64) {
			row = append(row, meanOr(t.Values.Value(key), of, per))
		}
		cell(answer.TTFT.Key(), mean, u.per)
		cell(answer.TTFT.Key(), percentile(50), u.per)
		cell(answer.TTFT.Key(), percentile(99), u.per)
		cell(answer.ITL.Key(), mean, u.per)
		cell(answer.ITL.Key(), percentile(99), u.per)
		for _, key := range figure.TurnMetrics[2:] {
			cell(key, mean, 1)
		}
		g.Add(row...)
	}
	return g
}

func mean(s *summary.Summary) float64 { return s.Mean }

func percentile(p float64) func(*summary.Summary) float64 {
	return func(s *summary.Summary) float64 { return s.P(p) }
}

// meanOr formats a value of a summary in a unit; "-" if there is none.
func meanOr(s *summary.Summary, of func(*summary.Summary) float64, per float64) string {
	if s == nil {
		return "-"
	}
	return Number(of(s) / per)
}

// described adds the statistics of values to an object.
func described(o sheet.Object, values figure.Summaries) sheet.Object {
	for _, v := range values {
		o = append(o, v.Key, statistics(v.Summary, float))
	}
	return o
}

func jsonSessions(x *figure.Sessions) sheet.Object {
	if x == nil {
		return nil
	}
	var inFlight sheet.Object
	if f := x.InFlight; f != nil {
		inFlight = sheet.Object{"mean", f.Mean, "most", f.Most, "part_ns", float64(x.Span.Duration()) / float64(len(f.Means)), "means", f.Means}
	}
	return sheet.Object{
		"requests", x.Requests, "requests_without_session", x.Single, "finished", x.Finished, "failed", x.Failed, "cut", x.Cut, "ended_before", x.Outside,
		"finished_begun_before", x.BegunBefore, "finished_but_cut", sheet.Opt(x.Unfinished), "start_ns", sheet.Opt(x.Span.FromNS), "end_ns", sheet.Opt(x.Span.ToNS), "gpus", sheet.Opt(x.GPUs),
		"figures", jsonLevelFigures(x.Figures),
		"by_depth", sheet.List(x.Depths, func(d *figure.SessionDepth) sheet.Object {
			return described(sheet.Object{"depth", d.Depth, "n", d.N}, d.Values)
		}),
		"by_turn", sheet.List(x.Turns, func(t *figure.SessionTurn) sheet.Object {
			return described(sheet.Object{"from", t.From, "to", t.To, "n", t.N}, t.Values)
		}),
		"in_flight", sheet.Opt(inFlight), "cache", jsonPossibleCache(&x.Cache),
		"first_sessions", sheet.List(x.List, jsonSession),
	}
}

// jsonSession describes a session. A sum that is not known is left out.
func jsonSession(s *figure.Session) sheet.Object {
	o := sheet.Object{
		"session_id", s.ID, "state", string(s.State), "start_ns", s.Span.FromNS, "agents", s.Agents, "depth", s.Depth,
	}
	for i := range figure.SessionValues {
		v := &figure.SessionValues[i]
		if x := v.Of(s); x.OK {
			o = append(o, v.Key, x.V)
		}
	}
	return o
}

func jsonPossibleCache(c *figure.PossibleCache) sheet.Object {
	if c.Why != "" {
		return sheet.Object{"why", c.Why}
	}
	tokens := func(t *figure.PossibleTokens) sheet.Object {
		o := sheet.Object{"prompt_tokens", t.Prompt, "possible_tokens", t.Longest, "possible_tokens_in_blocks", t.Blocks}
		if c.Limit > 0 {
			o = append(o, "possible_tokens_limited", t.Limited)
		}
		return o
	}
	o := sheet.Object{
		"block_tokens", c.Block, "limit_tokens", sheet.Opt(c.Limit), "answers", c.Answers, "known", c.Known, "unknown", c.Unknown, "possible", tokens(&c.Possible),
	}
	if c.Stated == 0 {
		return o
	}
	return append(o, "stated", c.Stated, "possible_of_stated", tokens(&c.StatedPossible), "input_tokens_stated", c.Input, "cached_tokens_stated", c.Cached,
		"gap", sheet.List(c.Gap(), func(p *figure.GapPart) sheet.Object { return sheet.Object{"share", p.Share, "reason", p.Reason} }))
}

// csvSessions returns the lines of the figures, "sessions." and the key, of the sessions by depth, and of the requests by turn.
func csvSessions(x *figure.Sessions) []csvLine {
	if x == nil {
		return nil
	}
	var lines []csvLine
	for _, c := range [...]struct {
		name string
		n    int
	}{{"finished", x.Finished}, {"failed", x.Failed}, {"cut", x.Cut}, {"ended_before", x.Outside}} {
		lines = append(lines, csvLine{name: "sessions." + c.name, unit: "sessions", n: strconv.Itoa(c.n)})
	}
	lines = append(lines, csvLevelFigures("sessions", x.Figures)...)
	at := func(where string, number int, values figure.Summaries) {
		for _, v := range values {
			lines = append(lines, csvSummary("sessions."+v.Key+where+strconv.Itoa(number), v.Unit, v.Summary))
		}
	}
	for i := range x.Depths {
		at("_at_depth_", x.Depths[i].Depth, x.Depths[i].Values)
	}
	for i := range x.Turns {
		at("_at_turn_", x.Turns[i].From, x.Turns[i].Values)
	}
	return slices.Clip(lines)
}
