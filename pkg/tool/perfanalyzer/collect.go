package perfanalyzer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A collector reads a run. It keeps 8 bytes for each request of the reported
// windows, or of all windows if the report shows the percentiles of each.
type collector struct {
	run      *export.Run
	settings *Settings
	levels   []levelData
	at       *levelData // the current level
	sniffed  bool       // the service kind is known, or sniff has run

	streamed bool // a request had several responses
	vllm     bool // a request went to the vLLM backend
	excluded int
	outside  int // number of requests in no window

	noServer error // why there are no statistics of a level

	explainer *explain.Explainer
	streaming *bool     // the user's --streaming
	latencies []float64 // of the reported requests, if the report is explained
}

// levelData is the data of a load level.
type levelData struct {
	skip    bool
	windows []pawindow.Window
	// guessed is set if the file has no windows; one window then has all requests.
	guessed bool
	stats   []pawindow.Stats

	unclear   []unclearEnd
	sequences sequences
	times     pawindow.Times
	gpus      *GPUWatch // nil: metrics were not collected
}

func newCollector(run *export.Run, s *Settings) *collector {
	c := &collector{run: run, settings: s, sniffed: s.ServiceKind != "", levels: make([]levelData, len(run.Experiments))}
	for i := range c.levels {
		l := &c.levels[i]
		l.windows = pawindow.Cut(run.Experiments[i].WindowBoundaries)
		if l.guessed = len(l.windows) == 0 || l.windows[0].Unbounded() && run.Meta != nil; l.guessed {
			l.windows = []pawindow.Window{{EndNS: ^uint64(0)}}
		}
		l.stats = make([]pawindow.Stats, len(l.windows))
		for k := range l.stats {
			l.stats[k].Duration = l.windows[k].Duration()
		}
	}
	return c
}

// Begin starts a level.
func (c *collector) Begin(level int) { c.at = &c.levels[level] }

// End finishes a level.
func (c *collector) End() {}

// Request counts a request of the current level.
func (c *collector) Request(x *export.Request) error {
	if !c.sniffed && len(x.Responses) > 0 {
		c.sniffed = true
		if sniff(x) {
			c.settings.ServiceKind = openAI
		}
	}
	l := c.at
	switch {
	case l.skip:
	case x.Excluded() != export.NotExcluded:
		c.excluded++
		if x.SequenceID != 0 {
			l.sequences.add(x, -1) // the sequence was not over before this request
		}
	default:
		c.add(l, x)
	}
	return nil
}

// sniff reports whether a request of a file without service_kind went to a server
// with the OpenAI API, by the layout in which perf_analyzer exports it.
func sniff(r *export.Request) bool {
	if _, ok := r.Inputs.Get("payload"); ok {
		return true
	}
	out := r.Responses[0].Outputs
	if len(out) != 1 || out[0].Name != "response" {
		return false
	}
	text := strings.TrimSpace(string(out[0].Value.Bytes()))
	return strings.HasPrefix(text, "data:") || strings.HasPrefix(text, ":") || strings.HasPrefix(text, "{")
}

// isVLLM reports whether a request went to Triton's vLLM backend: it has an input
// sampling_parameters, in small or capital letters. Its models are decoupled, also
// if an answer that was not streamed has a single response.
func isVLLM(r *export.Request) bool {
	return slices.ContainsFunc(r.Inputs, func(f export.Field) bool { return strings.EqualFold(f.Name, "sampling_parameters") })
}

// add counts a request in the window in which it ended.
func (c *collector) add(l *levelData, r *export.Request) {
	if len(r.Responses) > 1 {
		c.streamed = true
	}
	c.vllm = c.vllm || isVLLM(r)
	if !c.settings.openAI() {
		if u, ok := unclearOf(r); ok {
			l.unclear = append(l.unclear, u)
			c.explainer.Request(r)
			return
		}
	}
	end, responses, ok := pawindow.End(r, pawindow.NullLast(r, c.settings.openAI()))
	i := -1
	if ok {
		if l.guessed { // first: the window grows with each request
			l.extend(r.StartNS, end)
		}
		i = pawindow.Find(l.windows, end)
	}
	c.explain(l, r, end, ok, i)
	if !ok {
		return
	}
	if r.SequenceID != 0 {
		l.sequences.add(r, i)
	}
	if i < 0 {
		c.outside++
		return
	}
	s := &l.stats[i]
	s.Add(time.Duration(end-r.StartNS), responses)
	if pawindow.Delayed(r) {
		s.Delayed++
	}
	if i >= len(l.windows)-pawindow.StableOver {
		l.times.Add(r)
	}
}

// extend extends the window of a file without windows to a request. The window
// reaches from the first start to the last end.
func (l *levelData) extend(startNS, endNS uint64) {
	s := &l.stats[0]
	if s.Requests == 0 {
		l.windows[0] = pawindow.Window{StartNS: startNS, EndNS: endNS}
	}
	l.windows[0].StartNS = min(l.windows[0].StartNS, startNS)
	l.windows[0].EndNS = max(l.windows[0].EndNS, endNS)
	s.Duration = l.windows[0].Duration()
}

// Report returns the report of the levels.
func (c *collector) Report() dialect.Report {
	c.resolve()
	s := c.settings
	s.Decoupled = !s.openAI() && c.decoupled(c.streaming)
	if s.Requests == 0 && s.Windows == nil {
		s.Requests = c.requestCount()
	}
	if slices.ContainsFunc(c.levels, func(l levelData) bool { return len(l.sequences.byID) > 0 }) {
		s.SetStateful()
	}
	rep := &Report{Settings: *s, explainer: c.explainer}
	for i := range c.levels {
		l := &c.levels[i]
		if l.skip {
			continue
		}
		e := &c.run.Experiments[i]
		if l.windows[0].Unbounded() {
			rep.warnf("%s: perf_analyzer measures no windows there, and reports nothing; --dialect strict does", export.LoadName(e.Mode, e.Value))
			continue
		}
		rep.Levels = append(rep.Levels, c.level(l, e))
		c.explainLevel(&rep.Levels[len(rep.Levels)-1].Summary)
	}
	c.warn(rep)
	return rep
}

// decoupled reports whether the model of Triton answers with any number of
// responses; setting is the user's; nil without one.
func (c *collector) decoupled(setting *bool) bool {
	if setting != nil {
		return *setting
	}
	return c.streamed || c.vllm || slices.ContainsFunc(c.run.Experiments, func(e export.Experiment) bool {
		return e.Meta != nil && Decoupled(e.Meta.ServerStats)
	})
}

// level returns the figures of a level after its last request.
func (c *collector) level(l *levelData, e *export.Experiment) Level {
	l.sequences.count(l.stats)
	percentiles := pawindow.Percentiles(c.settings.Percentile)
	out := c.settings.NewLevel(e.Mode, e.Value, e.Meta)
	out.NoRate = dialect.Lacking(c.run, export.PartStarts)
	out.NoLatency = dialect.Lacking(c.run, export.PartEnds, export.PartLast)
	out.Sequences, out.Unreported = len(l.sequences.byID) > 0, c.interrupted(l)
	for i := range l.stats {
		out.Windows = append(out.Windows, l.stats[i].Summary(percentiles))
	}
	all := pawindow.Merge(pawindow.Reported(l.stats))
	out.Summary = all.Summary(percentiles)
	if e.Meta != nil {
		out.Times = l.times.Means()
		served, err := ModelsOf(e.Meta.ServerStats, len(l.windows))
		if err != nil {
			c.noServer = fmt.Errorf("%s: %w", export.LoadName(e.Mode, e.Value), err)
		}
		out.Serve(served)
	}
	if l.gpus != nil {
		out.GPUs = l.gpus.GPUs()
	}
	if out.SentPerSecond == 0 {
		out.SentPerSecond = out.Summary.PerSecond(out.Summary.Requests)
	}
	return out
}

// interrupted reports whether perf_analyzer was interrupted in a level: it has two
// windows, or one in a release without request counts, which give one window.
func (c *collector) interrupted(l *levelData) bool {
	if c.run.Meta != nil || l.guessed {
		return false
	}
	n := len(l.windows)
	return n < pawindow.StableOver && (n > 1 || !c.settings.release().rules.counts)
}

// requestCount returns perf_analyzer's request count if no setting gives it: the
// number of requests of a level with one window. 0 means that windows decided.
func (c *collector) requestCount() int {
	n := 0
	for i := range c.levels {
		l := &c.levels[i]
		if len(l.windows) != 1 || l.guessed || l.windows[0].Unbounded() || c.interrupted(l) || c.run.Meta != nil {
			return 0
		}
		n = l.stats[0].Requests
	}
	return n
}

// warn adds the warnings about missing parts of the report.
func (c *collector) warn(rep *Report) {
	s := &rep.Settings
	if c.excluded > 0 {
		rep.warnf("left out: %s that perf_analyzer would not have counted (failed, cancelled, late, or warm-up)", plural.Of(c.excluded, "request"))
	}
	if c.outside > 0 {
		rep.warnf("not counted: %s that ended in no measurement window", plural.Of(c.outside, "request"))
	}
	levels := reported(rep.Levels)
	for i := range rep.Levels {
		switch l := &rep.Levels[i]; {
		case l.Unreported:
			rep.warnf("%s: perf_analyzer was interrupted after %d of at least 3 windows, and reports nothing; --dialect strict does", export.LoadName(l.Mode, six(l.Value)), len(l.Windows))
		case l.Summary.Requests == 0:
			rep.warnf("%s: no valid requests in the last windows: perf_analyzer ends there, and reports nothing", export.LoadName(l.Mode, six(l.Value)))
		case l.Summary.StdDevUS == pawindow.NoDeviation:
			rep.warnf("%s: one request has no standard deviation; perf_analyzer prints the largest number for it", export.LoadName(l.Mode, six(l.Value)))
		}
	}
	if slices.ContainsFunc(c.levels, func(l levelData) bool { return !l.skip && l.guessed }) {
		rep.warnf("the file has no measurement windows; each load level is taken as one, from its first start to its last end")
	}
	if len(levels) > 0 && levels[0].NoRate != "" {
		rep.warnf("throughputs are n/a: %s", levels[0].NoRate)
	}
	if len(levels) > 0 && levels[0].NoLatency != "" {
		rep.warnf("latencies are n/a: %s", levels[0].NoLatency)
	}
	rep.remarks = slices.Clone(rep.warnings) // later warnings are about settings and the server
	if len(levels) == 0 {
		return
	}
	if s.Requests == 0 && s.Windows == nil && c.run.Meta == nil {
		rep.warnf("the settings are n/a where perf_analyzer's command line decides; give it with --arg measurement-mode=…, --arg measurement-interval=… and so on")
	}
	if slices.ContainsFunc(levels, func(l Level) bool { return !l.NoServer && l.Server == nil && l.Servers == nil }) {
		why := c.noServer
		if why == nil {
			why = errors.New("the file does not hold them (perf_analyzer exports none)")
		}
		rep.warnf("the server's statistics are n/a: %w", why)
	}
	if slices.ContainsFunc(levels, func(l Level) bool { return l.GPUs != nil && len(l.GPUs.Utilization) == 0 }) {
		rep.warnf("the metrics hold no nv_gpu_utilization of the windows; perf_analyzer shows only the GPU metrics of Triton's own endpoint")
	}
	if !s.Decoupled && slices.ContainsFunc(levels, func(l Level) bool { return l.Times == nil }) {
		rep.warnf("the times within the client are n/a: the file does not hold them (perf_analyzer exports none); --arg protocol=grpc if it was gRPC")
	}
}
