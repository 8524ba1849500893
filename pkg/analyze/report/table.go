package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Table writes the report for people: for each input a head, a table per experiment, a
// line per load level if there are several, and the number of warnings; [Warnings] writes
// the warnings. Lines are as long as tables need, but at most [Options.Width]; a wider
// table continues below.
func Table(inputs []Input, o Options) Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		u := timeUnitsOf(inputs)
		for i, in := range inputs {
			if i > 0 {
				b.WriteString("\n\n")
			}
			t := table{b: &b, rep: in.Report, o: o, units: &u}
			t.head(in.Name)
			for j := range in.Report.Experiments {
				b.WriteByte('\n')
				p := t.level(&in.Report.Experiments[j])
				t.prose("", plain(p.Title)+": "+p.After)
				t.blocks(p.Blocks)
			}
			if len(in.Report.Experiments) > 1 {
				b.WriteByte('\n')
				t.blocks(t.levels().Blocks)
			}
		}
		if n := len(Warnings(inputs, o.AllWarnings)); n > 0 {
			fmt.Fprintf(&b, "\n%s on standard error\n", plural.Of(n, "warning"))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// A table makes the report of a run for people.
type table struct {
	b     *strings.Builder // of text
	rep   *analyze.Report
	o     Options
	units *timeUnits

	markdown bool // for Markdown, which leaves out lines about the recorder
}

// lineWidth is the default width of text, and maxLineWidth the width of text on a wide
// terminal. leastWidth is the least width of a table; a narrower terminal breaks its
// lines.
const (
	lineWidth    = 80
	maxLineWidth = 100
	leastWidth   = 24
)

// textWidth returns the width that text is broken at.
func (o *Options) textWidth() int {
	if o.Width == 0 {
		return lineWidth
	}
	return min(max(o.Width, leastWidth), maxLineWidth)
}

// tableIndent precedes the lines of tables.
const tableIndent = "  "

// write writes a table within the width.
func (t *table) write(g *sheet.Table) {
	limit := 0
	if t.o.Width > 0 {
		limit = max(t.o.Width, leastWidth)
		g.Fit(len(tableIndent), limit)
	}
	t.b.WriteString(g.Text(tableIndent, limit))
}

// blocks writes sentences and tables.
func (t *table) blocks(all []sheet.Block) {
	for i := range all {
		block := &all[i]
		if block.Apart {
			t.b.WriteByte('\n')
		}
		if block.Table != nil {
			t.write(block.Table)
			continue
		}
		for _, text := range block.Sentences() {
			t.prose(tableIndent, text)
		}
	}
}

// head writes the properties of the whole run.
func (t *table) head(name string) {
	run := t.rep.Run
	fmt.Fprintf(t.b, "%s\n", plain(name))
	var rows [][2]string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, [2]string{name, plain(value)})
		}
	}
	row("recorded by", Tool(t.rep))
	service := export.TextOf(run.ServiceKind)
	if e := export.TextOf(run.Endpoint); e != "" {
		service = strings.TrimPrefix(service+" "+e, " ")
	}
	row("service", service)
	row("model", t.rep.Model)
	row("server", server(run))
	row("timestamps", timestamps(t.rep))
	if t.rep.From != answer.FromStart {
		row("latency from", t.rep.From.String())
	}
	if m := run.Meta; m != nil {
		if c := t.rep.Calibration(); c != nil {
			calibration(c, t.units.clock, row)
		}
		shardRows(m, row)
		row("interrupted", m.Interrupted)
	}
	if len(t.rep.Experiments) == 0 {
		row("experiments", "none")
	}
	widest := 0
	for _, r := range rows {
		widest = max(widest, len(r[0]))
	}
	for _, r := range rows { // a long value continues below itself
		t.prose(fmt.Sprintf("  %-*s  ", widest, r[0]), r[1])
	}
}

// server names the server of one that was recorded with others, by its label, and which of
// its runs this is; "" for a run of a server without a label.
func server(run *export.Run) string {
	if run.Meta == nil || run.Meta.Repeat == nil || run.Meta.Repeat.Label == "" {
		return ""
	}
	r := run.Meta.Repeat
	if r.Of == 1 {
		return r.Label
	}
	return fmt.Sprintf("%s, run %d of %d", r.Label, r.Index, r.Of)
}

// Tool names the tool that wrote the file; "not known (…)" if the file breaks off before
// it names the tool. Some builds of perf_analyzer have the version "" or "0.0.0".
func Tool(rep *analyze.Report) string {
	if m := rep.Run.Meta; m != nil && m.Tool != "" {
		return m.Tool
	}
	switch v := export.TextOf(rep.Run.Version); {
	case rep.ByRecorder:
		return "pa-record"
	case v != "":
		return "perf_analyzer " + v
	case rep.Cut:
		return "not known (the file is cut short)"
	}
	return "perf_analyzer"
}

// timestamps counts the times of responses by source: "510 from the kernel"; "" if the
// file names no source.
func timestamps(rep *analyze.Report) string {
	s := rep.Stamps
	var parts []string
	for _, p := range []struct {
		name string
		n    int
	}{{"from the kernel", s.Kernel}, {"from the program", s.User}, {"of unknown source", s.Unknown}} {
		if p.n > 0 {
			parts = append(parts, plural.Grouped(p.n)+" "+p.name)
		}
	}
	if s.Kernel+s.User == 0 {
		return ""
	}
	return strings.Join(parts, ", ")
}

// LevelName names a load level for people: "concurrency 8", "schedule of 5 requests"; "load not
// known" if the file of another tool does not state it.
func LevelName(e *analyze.Experiment) string {
	return analyze.LevelName(e.Mode, e.Value, e.Load)
}

var excludedText = map[export.Exclusion]string{
	export.ExcludedWarmup: "warm-up",
	export.ExcludedLate:   "ended after the measurement",
}

// requests counts the requests by outcome: "97 requests ok, 3 failed (2 timeout,
// 1 http_error), 8 excluded (warm-up)".
func requests(e *analyze.Experiment) string {
	s := plural.GroupedOf(e.OK, "request") + " ok"
	for _, p := range []struct {
		what  string
		n     int
		parts []figure.Count
	}{{"failed", e.FailedRequests(), e.Failed}, {"excluded", e.ExcludedRequests(), e.Excluded}} {
		if p.n == 0 {
			continue
		}
		var names []string
		for _, c := range p.parts {
			name := plain(c.Name)
			if why, ok := excludedText[export.Exclusion(c.Name)]; ok && p.what == "excluded" {
				name = why
			}
			if len(p.parts) > 1 {
				name = plural.Grouped(c.N) + " " + name
			}
			names = append(names, name)
		}
		s += fmt.Sprintf(", %s %s (%s)", plural.Grouped(p.n), p.what, strings.Join(names, ", "))
	}
	if e.Unreadable > 0 {
		s += ", " + plural.Grouped(e.Unreadable) + " unreadable"
	}
	return s
}

// usual lists the percentiles of the usual table.
var usual = [...]float64{50, 90, 95, 99}

// newGrid returns a table with a number of keys and of rows of heads.
func newGrid(keys, heads int) sheet.Table {
	return sheet.Table{Keys: keys, Heads: heads, Rule: [2]string{":--", "--:"}}
}

// figures returns a row per metric.
func figures(all []summary.Metric, u *timeUnits) sheet.Table {
	g := newGrid(2, 1)
	if len(all) == 0 {
		return g
	}
	head := []string{"", "", "n", "mean", "std", "min"}
	for _, p := range usual {
		head = append(head, PercentileName(p))
	}
	g.Add(append(head, "max")...)
	for _, m := range all {
		s, f := m.Summary, rowFormat(m, u.Of(m.Definition))
		label := m.Definition.Label()
		if m.Definition.Metric == answer.TTST { // the least known name says what it is
			label += " 1st→2nd"
		}
		row := []string{label, f.name, strconv.Itoa(s.N), f.text(s.Mean), f.text(s.Std), f.text(s.Min)}
		for _, p := range usual {
			row = append(row, f.text(s.P(p)))
		}
		g.Add(append(row, f.text(s.Max))...)
	}
	return g
}

// tall returns a column per metric and a row per figure, because a line cannot hold fifteen
// figures.
func tall(e *analyze.Experiment, u *timeUnits) sheet.Table {
	g := newGrid(1, 2)
	if len(e.Metrics) == 0 {
		return g
	}
	names, units := []string{""}, []string{""}
	formats := make([]inRow, len(e.Metrics))
	row := func(name string, f func(i int, s *summary.Summary) string) {
		cells := []string{name}
		for i := range e.Metrics {
			cells = append(cells, f(i, e.Metrics[i].Summary))
		}
		g.Add(cells...)
	}
	for i, m := range e.Metrics {
		formats[i] = rowFormat(m, u.Of(m.Definition))
		name, unit := m.Definition.Label(), formats[i].name
		if m.Definition.Unit() == answer.Tokens { // "output tokens" in two lines
			name, unit, _ = strings.Cut(name, " ")
		}
		names, units = append(names, name), append(units, unit)
	}
	g.Add(names...)
	g.Add(units...)
	show := func(f func(*summary.Summary) float64) func(int, *summary.Summary) string {
		return func(i int, s *summary.Summary) string { return formats[i].text(f(s)) }
	}
	row("n", func(_ int, s *summary.Summary) string { return strconv.Itoa(s.N) })
	row("mean", show(func(s *summary.Summary) float64 { return s.Mean }))
	row("std", show(func(s *summary.Summary) float64 { return s.Std }))
	row("min", show(func(s *summary.Summary) float64 { return s.Min }))
	for _, l := range summary.Levels {
		row(PercentileName(l), show(func(s *summary.Summary) float64 { return s.P(l) }))
	}
	row("max", show(func(s *summary.Summary) float64 { return s.Max }))
	return g
}

// rates returns the throughputs in a line; "" if there are none.
func rates(e *analyze.Experiment) string {
	var all []string
	for _, r := range throughputs(&e.Throughput) {
		if r.rate.OK {
			all = append(all, Number(r.rate.PerSecond)+" "+r.short)
		}
	}
	return strings.Join(all, " · ")
}

// statedRates returns the rates over the duration that the file states; "" without any.
func statedRates(x *figure.Stated) string {
	if x == nil {
		return ""
	}
	var all []string
	for i, unit := range [...]string{1: "requests/s", "output tok/s", "total tok/s"} {
		if f := &x.Figures[i]; i > 0 && f.Why == "" {
			all = append(all, Number(f.Value)+" "+unit)
		}
	}
	if all == nil {
		return ""
	}
	return "over the duration that the file states (" + Number(x.Figures[0].Value) + " s): " + strings.Join(all, " · ")
}

// notes returns the sources of a level's numbers; "" for the usual ones.
func notes(rep *analyze.Report, e *analyze.Experiment) string {
	var all []string
	if e.TokenSource != answer.TokenAuto {
		source := sourceText[e.TokenSource]
		if t := rep.Tokenizer; t != nil && (e.TokenSource == answer.TokenTokenizer || e.TokenSource == answer.TokenMixed) {
			source += " (tokenizer " + plain(t.Name) + ")"
		}
		all = append(all, "output tokens from "+source)
	}
	if h := e.Hidden; h != nil {
		all = append(all, fmt.Sprintf("TTFT to the first visible token (%v)", h))
	}
	if e.SharedStamps > 0 {
		all = append(all, fmt.Sprintf("%s of %s tokens arrived together with the previous one", plural.Grouped(int64(e.SharedStamps)), plural.Grouped(int64(e.TokenEvents))))
	}
	return strings.Join(all, "; ")
}

// resent says how many requests were sent again; "" for none.
func resent(e *analyze.Experiment) string {
	if e.Resent == 0 {
		return ""
	}
	return plural.Of(e.Resent, "request") + " sent again: the server had closed the kept connection"
}

// missing names the figures that a level cannot have: a line for each reason.
func missing(rep *analyze.Report, e *analyze.Experiment) []string {
	var lacking sheet.Reasons
	for _, u := range slices.Concat(e.Unavailable, rep.Unavailable) {
		lacking.Add(u.Name, u.Why)
	}
	return naLines(&lacking)
}

var sourceText = map[answer.TokenSource]string{
	answer.TokenUsage:     "the server's usage",
	answer.TokenTokenizer: "the tokenizer",
	answer.TokenResponses: "the number of token events",
	answer.TokenMixed:     "several sources",
	answer.TokenStated:    "what the file states",
	answer.TokenIDs:       "the answers' token ids",
}

// levelLines returns one line per load level.
func levelLines(rep *analyze.Report, u *timeUnits) sheet.Table {
	mode, mixed := modes(rep)
	lines := make([]line, 0, len(rep.Experiments))
	for _, e := range byLoad(rep) {
		lines = append(lines, line{name: levelIn(e, mixed), throughput: &e.Throughput, metric: e.Metric, ok: e.OK, failed: e.FailedRequests(), sent: e.Sent})
	}
	return compared(mode, "", lines, u)
}

// models returns one line per model of a level.
func models(e *analyze.Experiment, u *timeUnits) sheet.Table {
	lines := make([]line, 0, len(e.Models))
	for i := range e.Models {
		m := &e.Models[i]
		lines = append(lines, line{name: m.Model, throughput: &m.Throughput, metric: m.Metric, ok: m.OK, failed: m.Failed})
	}
	return compared("model", "", lines, u)
}

// modes returns the mode of all experiments; "level" if their modes differ.
func modes(rep *analyze.Report) (mode string, mixed bool) {
	for i := range rep.Experiments {
		mixed = mixed || rep.Experiments[i].Mode != rep.Experiments[0].Mode
	}
	if mixed {
		return "level", true
	}
	return strings.ReplaceAll(rep.Experiments[0].Mode, "_", " "), false
}

// byLoad returns the experiments in the order of their loads, in which a search or an
// interleaved run does not measure them; in the order of the file if their modes differ or a
// load is no number.
func byLoad(rep *analyze.Report) []*analyze.Experiment {
	all := make([]*analyze.Experiment, len(rep.Experiments))
	loads := make(map[*analyze.Experiment]float64, len(all))
	_, mixed := modes(rep)
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		load, err := strconv.ParseFloat(e.Value, 64)
		mixed = mixed || err != nil
		all[i], loads[e] = e, load
	}
	if !mixed {
		slices.SortStableFunc(all, func(a, b *analyze.Experiment) int { return cmp.Compare(loads[a], loads[b]) })
	}
	return all
}

// levelIn names an experiment in a list whose head is its mode; mixed says that the modes
// differ, so that the name holds the mode.
func levelIn(e *analyze.Experiment, mixed bool) string {
	if mixed {
		return LevelName(e)
	}
	return e.Value
}

// A line is a row of a comparing table: a load level, a model or a window.
type line struct {
	name       string
	throughput *figure.Throughput
	metric     func(answer.Metric) *summary.Summary
	ok, failed int
	sent       figure.Rate
}

// A comparedFigure is a percentile of a metric that a comparing table shows.
type comparedFigure struct {
	metric answer.Metric
	pct    float64
	sc     TimeUnit
}

// comparedFigures returns the percentiles of a comparing table, in order.
func comparedFigures(u *timeUnits) []comparedFigure {
	return []comparedFigure{{answer.TTFT, 50, u.Token}, {answer.TTFT, 99, u.Token}, {answer.ITL, 50, u.Token}, {answer.ITL, 99, u.Token}, {answer.E2EL, 50, u.Request}}
}

// compared returns a table of lines under two rows of heads.
func compared(name, unit string, lines []line, u *timeUnits) sheet.Table {
	g := newGrid(1, 2)
	cols := comparedFigures(u)
	open := slices.ContainsFunc(lines, func(l line) bool { return l.sent.OK })
	head, units := []string{name}, []string{unit}
	if open {
		head, units = append(head, "sent"), append(units, "/s")
	}
	head, units = append(head, "requests", "output"), append(units, "/s", "tok/s")
	for _, c := range cols {
		head, units = append(head, c.metric.Label()), append(units, PercentileName(c.pct)+" "+c.sc.name)
	}
	g.Add(append(head, "ok", "failed")...)
	g.Add(append(units, "", "")...)
	for i := range lines {
		l := &lines[i]
		row := []string{l.name}
		if open {
			row = append(row, perSecond(l.sent))
		}
		row = append(row, perSecond(l.throughput.Requests), perSecond(l.throughput.OutputTokens))
		for _, c := range cols {
			if s := l.metric(c.metric); s != nil {
				row = append(row, Number(s.P(c.pct)/c.sc.per))
			} else {
				row = append(row, "-")
			}
		}
		g.Add(append(row, strconv.Itoa(l.ok), strconv.Itoa(l.failed))...)
	}
	return g
}

func perSecond(r figure.Rate) string {
	if !r.OK {
		return "-"
	}
	return Number(r.PerSecond)
}

// prose writes text in lines of the width, broken between words, and between figures if the text
// is a list of figures with " · ". first begins the first line; the others are indented by its
// length, at most by half the width.
func (t *table) prose(first, text string) {
	width := t.o.textWidth()
	indent := strings.Repeat(" ", min(utf8.RuneCountInString(first), width/2))
	line, empty := first, true
	for _, word := range unbroken(text, width-len(indent)) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > width {
			t.b.WriteString(line + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	t.b.WriteString(line + "\n")
}

// unbroken returns the parts of a text that stand on one line: its words, or the figures of a
// list of figures that fit in the width.
func unbroken(text string, width int) []string {
	const between = " · "
	if !strings.Contains(text, between) {
		return withUnits(strings.Fields(text))
	}
	var parts []string
	figures := strings.Split(text, between)
	for i, figure := range figures {
		words := strings.Fields(figure)
		if i < len(figures)-1 && len(words) > 0 {
			words[len(words)-1] += " ·"
		}
		if whole := strings.Join(words, " "); utf8.RuneCountInString(whole) <= width {
			words = []string{whole}
		}
		parts = append(parts, words...)
	}
	return parts
}

// withUnits joins the words of units to the numbers before them, and "attained" to its "not".
func withUnits(words []string) []string {
	joined := words[:0:0]
	for _, word := range words {
		last := len(joined) - 1
		unit := strings.TrimRight(word, ",;.)")
		if last >= 0 && (slices.Contains(unitWords[:], unit) && isDigit(joined[last]) || unit == "attained" && joined[last] == "not") {
			joined[last] += " " + word
			continue
		}
		joined = append(joined, word)
	}
	return joined
}

// unitWords are the units that follow numbers in prose.
var unitWords = [...]string{"ns", "µs", "ms", "s", "MB", "MiB", "W", "J"}

// isDigit reports whether a word ends in a digit.
func isDigit(word string) bool {
	return word != "" && word[len(word)-1] >= '0' && word[len(word)-1] <= '9'
}

// level returns what text and Markdown say of a level.
func (t *table) level(e *analyze.Experiment) *sheet.Part {
	u := t.units
	p := &sheet.Part{Title: LevelName(e), After: requests(e)}
	if e.DurationNS > 0 {
		p.After += " in " + u.duration.Span(float64(e.DurationNS))
	}
	if e.Selected != nil {
		p.Lines(Selected(e.Selected))
	}
	if t.o.Percentiles {
		p.Table(tall(e, u)).Table(t.histograms(e))
	} else {
		p.Table(figures(e.Metrics, u))
	}
	p.Lines(rates(e), statedRates(e.Stated), notes(t.rep, e), resent(e)).Lines(missing(t.rep, e)...)
	if !t.markdown {
		p.Lines(clientLine(e, u.client, t.o.Percentiles || t.o.AllWarnings))
	}
	if e.SLO != nil {
		p.List(objective(e.SLO, t.rep.SLOTarget)...)
	}
	if q := e.Quality; q != nil {
		p.Apart().Lines(qualitySettings(q)).Table(figures(q.Metrics, u)).List(qualityFigures(q)...).Lines(qualityPositions(q, u))
	}
	if x := e.Economics; x != nil {
		p.Apart().Lines(economicsSettings(x)).List(economicsFigures(x)...)
	}
	if x := e.Prefix; x != nil {
		p.Apart().List(prefixLines(x, u.server)...).Table(prefixBuckets(x, u.Token))
	}
	if x := e.Phases; x != nil {
		p.Apart().Table(figures(x.Metrics, u)).List(phaseLines(x, u.server)...)
	}
	if x := e.Audio; x != nil {
		p.Apart().Table(figures(x.Metrics, u)).List(audioLines(x, u.server)...)
	}
	if x := e.Sessions; x != nil {
		p.Apart().List(sessionLines(x, u.Request)...).Table(sessionDepths(x, u.Request)).Table(sessionTurns(x, u.Token))
	}
	if x := e.Images; x != nil {
		p.Apart().List(groupLines("images", x.Figures, imageFigure(u.server))...)
	}
	if x := e.Realtime; x != nil {
		p.Apart().List(groupLines("realtime", x.Figures, timeFigure(u.Request))...)
	}
	if len(e.Server) > 0 {
		p.Apart().Table(servers(e, u.server)).Lines(serverNotes(e)...)
	}
	if len(e.Models) > 0 {
		p.Apart().Table(models(e, u))
	}
	if len(e.Windows) > 0 {
		p.Apart().Lines(windowNote(e)).Table(windows(e, u)).Table(t.trends(windowLines(e)))
	}
	return p
}

// levels returns a line per load level, and how the levels meet the objective if there is one.
func (t *table) levels() *sheet.Part {
	p := (&sheet.Part{}).Table(levelLines(t.rep, t.units))
	if t.rep.SLO == nil {
		return p
	}
	p.Apart().Add(sheet.Block{Text: "SLO", Code: t.rep.SLO.String()}).Table(objectives(t.rep))
	if m := t.rep.MaxLoad(); m != nil {
		p.Lines(MaxLoad(m))
	}
	return p
}

// Markdown writes the report for a pull request or an issue, in the Markdown of
// GitHub: the tables of [Table], and the warnings as a list. Text of a server
// or a file is escaped: it shows as it is and makes no link, mention or markup.
func Markdown(inputs []Input) Renderer {
	u := timeUnitsOf(inputs)
	var sheets []*sheet.Sheet
	for _, in := range inputs {
		sheets = append(sheets, markdown(in, &u))
	}
	return sheet.Markdown(sheets...)
}

func markdown(in Input, u *timeUnits) *sheet.Sheet {
	rep := in.Report
	about := []string{"recorded by " + Tool(rep)}
	if s := strings.TrimSpace(export.TextOf(rep.Run.ServiceKind) + " " + export.TextOf(rep.Run.Endpoint)); s != "" {
		about = append(about, s)
	}
	if rep.Model != "" {
		about = append(about, "model "+rep.Model)
	}
	if s := server(rep.Run); s != "" {
		about = append(about, "server "+s)
	}
	if rep.From != answer.FromStart {
		about = append(about, "latency from "+rep.From.String())
	}
	s := &sheet.Sheet{Title: in.Name, About: []string{strings.Join(about, " · ")}}
	if len(rep.Experiments) == 0 {
		s.Part("").Lines("no experiments")
	}
	t := &table{rep: rep, units: u, markdown: true}
	if len(rep.Experiments) > 1 {
		s.Parts = append(s.Parts, t.levels())
	}
	for i := range rep.Experiments {
		s.Parts = append(s.Parts, t.level(&rep.Experiments[i]))
	}
	if lines := Warnings([]Input{in}, false); len(lines) > 0 {
		s.Part("").Lines("Warnings:").List(lines...)
	}
	return s
}

// Brief returns a renderer of one line per load level: requests ok and failed, the sent
// rate of an open loop, TTFT and ITL (p50 and p99), and output tokens per second. If the answers of a level were
// not streamed, it has no TTFT, and the lines have columns for E2EL. Figures, units
// and digits are as in the levels of [Table].
func Brief(rep *analyze.Report) Renderer {
	return func(w io.Writer) error {
		g := brief(rep)
		_, err := io.WriteString(w, g.Text("", 0))
		return err
	}
}

func brief(rep *analyze.Report) sheet.Table {
	units := timeUnitsOf([]Input{{Report: rep}})
	mode, mixed := modes(rep)
	for i := range rep.Experiments {
		if rep.Experiments[i].Load != "" && !mixed {
			mode, mixed = "level", true
		}
	}
	type column struct {
		name, unit string
		cell       func(e *analyze.Experiment) string
	}
	var columns []column
	if slices.ContainsFunc(rep.Experiments, func(e analyze.Experiment) bool { return e.Sent.OK }) {
		columns = append(columns, column{"sent", "/s", func(e *analyze.Experiment) string { return rateOrNA(e.Sent) }})
	}
	latency := func(m answer.Metric, sc TimeUnit) {
		for _, pct := range []float64{50, 99} {
			columns = append(columns, column{m.Label(), PercentileName(pct) + " " + sc.name, func(e *analyze.Experiment) string {
				s := e.Metric(m)
				if s == nil {
					return "n/a"
				}
				return Number(s.P(pct) / sc.per)
			}})
		}
	}
	some := func(has func(e *analyze.Experiment) bool) bool {
		for i := range rep.Experiments {
			if e := &rep.Experiments[i]; e.OK > 0 && has(e) {
				return true
			}
		}
		return false
	}
	if some(func(e *analyze.Experiment) bool { return e.Metric(answer.TTFT) != nil }) {
		latency(answer.TTFT, units.Token)
		latency(answer.ITL, units.Token)
	}
	if some(func(e *analyze.Experiment) bool { return e.Metric(answer.TTFT) == nil }) {
		latency(answer.E2EL, units.Request)
	}
	rate := column{"output", "tok/s", func(e *analyze.Experiment) string { return rateOrNA(e.Throughput.OutputTokens) }}
	if !some(func(e *analyze.Experiment) bool { return e.Throughput.OutputTokens.OK }) {
		rate = column{"requests", "/s", func(e *analyze.Experiment) string { return rateOrNA(e.Throughput.Requests) }}
	}
	columns = append(columns, rate)

	g := newGrid(1, 2)
	head, below := []string{mode, "ok", "failed"}, []string{"", "", ""}
	for _, c := range columns {
		head, below = append(head, c.name), append(below, c.unit)
	}
	g.Add(head...)
	g.Add(below...)
	for _, e := range byLoad(rep) {
		row := []string{levelIn(e, mixed), strconv.Itoa(e.OK), strconv.Itoa(e.FailedRequests())}
		for _, c := range columns {
			row = append(row, c.cell(e))
		}
		g.Add(row...)
	}
	return g
}

// Selected describes the part of a level that figures are about: "window: 30 s to 90 s of
// 120 s".
func Selected(s *analyze.Selected) string {
	unit := scaleFor(float64(s.Level.Duration()))
	since := func(ns uint64) string { return short(float64(ns-s.Level.FromNS)/unit.per) + " " + unit.name }
	name := map[string]string{"window": "window", "trim": "trimmed", "steady_state": "steady state"}[s.How]
	text := fmt.Sprintf("%s: %s to %s of %s", name, since(s.FromNS), since(s.ToNS), since(s.Level.ToNS))
	if x := s.Steady; x != nil {
		text += fmt.Sprintf(", with %d or more of %d in flight for %s of it", x.Threshold, x.Concurrency, percent(x.AtPlateau))
	}
	return text
}

// short formats v as number does, without zeros at the end: 30, 12.5.
func short(v float64) string {
	text := Number(v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// offset formats nanoseconds as seconds, with at most three decimals if whole is a second
// or longer.
func offset(ns int64, whole time.Duration) string {
	if whole >= time.Second {
		ns = int64(math.Round(float64(ns)/1e6)) * 1e6
	}
	return strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
}

// windows returns one line per window of a level.
func windows(e *analyze.Experiment, u *timeUnits) sheet.Table {
	return compared("from", "s", windowLines(e), u)
}

// windowLines returns a line for each window.
func windowLines(e *analyze.Experiment) []line {
	lines := make([]line, 0, len(e.Windows))
	for i := range e.Windows {
		w := &e.Windows[i]
		lines = append(lines, line{name: offset(w.OffsetNS, windowed(e)), throughput: &w.Throughput, metric: w.Metric, ok: w.OK, failed: w.Failed})
	}
	return lines
}

// windowed returns the time from the start of the first window to the end of the last.
func windowed(e *analyze.Experiment) time.Duration {
	return figure.Span{FromNS: e.Windows[0].FromNS, ToNS: e.Windows[len(e.Windows)-1].ToNS}.Duration()
}

// windowNote returns a description of the windows.
func windowNote(e *analyze.Experiment) string {
	n := len(e.Windows)
	first, last := e.Windows[0].Duration(), e.Windows[n-1].Duration()
	note := "windows of " + offset(int64(first), windowed(e)) + " s, by the start of requests"
	for i := range e.Windows[:n-1] {
		if e.Windows[i].Duration().Round(time.Millisecond) != first.Round(time.Millisecond) {
			return "windows of different lengths, by the start of requests"
		}
	}
	if text := offset(int64(last), windowed(e)); text != offset(int64(first), windowed(e)) {
		note += "; the last one is " + text + " s"
	}
	return note
}
