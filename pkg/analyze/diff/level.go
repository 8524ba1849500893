package diff

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A Level is one load level of a run.
type Level struct {
	Mode, Value string

	OK, Failed int
	// Unreadable counts requests that the reader left out.
	Unreadable int
	// DurationNS is from the first start to the last response of the
	// successful requests.
	DurationNS  int64
	TokenSource analyze.TokenSource
	// Responses and Starts count stamps by who took them.
	Responses, Starts Sources
	Input, Output     Lengths
	// Backward counts gaps below 0: the clock was set back.
	Backward    int
	Unstable    bool // the recorder's stability rule was not met
	Interrupted bool
	Saturated   []string // why the client may have been the limit

	// values are those of Metrics; NaN where there is none.
	values [len(Metrics)]float64
	n      [quantities]int // how many values each quantity has
	// The following are nil unless the series are kept.
	series  [seriesQuantities][]float64
	spans   []float64 // seconds from one completion to the next
	tokens  []float64 // of these completions; nil when not known
	prompts []prompt
}

// Sources counts stamps by source.
type Sources struct{ Kernel, User, Unknown int }

func (s *Sources) add(by export.StampSource) {
	switch by {
	case export.SourceKernel:
		s.Kernel++
	case export.SourceUser:
		s.User++
	default:
		s.Unknown++
	}
}

// Lengths describes the numbers of tokens of requests.
type Lengths struct {
	N         int
	Mean, Std float64
	P50, P99  float64
}

// Name returns "concurrency 8".
func (l *Level) Name() string { return l.Mode + " " + l.Value }

// load returns the name with the number written in one way: 10 for 10.0.
func (l *Level) load() string {
	if x, err := strconv.ParseFloat(l.Value, 64); err == nil {
		return l.Mode + " " + strconv.FormatFloat(x, 'g', -1, 64)
	}
	return l.Name()
}

// is reports whether a level is of the same load; 10 and 10.0 are.
func (l *Level) is(o *Level) bool {
	return l.load() == o.load()
}

// A prompt is a request as far as pairing asks.
type prompt struct {
	id         uint64
	start      uint64
	input      uint64 // a hash of what was sent
	ttft, e2el float64
}

// A builder gathers a level.
type builder struct {
	rows       []row
	gaps       []gap
	prompts    []prompt
	ids        int // prompts with an id
	withInputs int

	failed, unreadable int
	responses, starts  Sources
	sources            [analyze.TokenMixed]int
	dropped, backward  int
	input, output      []float64
	lastOf             []choiceTime
}

// A row is a successful request. NaN is a value that does not exist.
type row struct {
	start, end              uint64
	ttft, tpot, e2el, count float64
}

type gap struct {
	end uint64
	ns  float64
}

type choiceTime struct {
	choice int
	at     uint64
}

func (b *builder) add(q *export.Request, m *analyze.Measured) {
	p := prompt{id: q.ID, start: q.StartNS, ttft: math.NaN(), e2el: math.NaN()}
	if len(q.Inputs) > 0 {
		p.input = hash(q.Inputs)
		b.withInputs++
	}
	if q.HasMeta {
		b.ids++
	}
	if m.Counted {
		b.count(q, m)
		p.ttft, p.e2el = value(m.TTFT), value(m.E2EL)
	} else if m.Excluded == "failed" {
		b.failed++
	}
	b.prompts = append(b.prompts, p)
}

func (b *builder) count(q *export.Request, m *analyze.Measured) {
	x := row{start: q.StartNS, ttft: value(m.TTFT), e2el: value(m.E2EL), tpot: math.NaN(), count: value(m.OutputTokens)}
	x.end, _ = q.EndNS()
	if v, ok := m.TPOT(); ok {
		x.tpot = v
	}
	b.rows = append(b.rows, x)
	b.starts.add(q.StartSource)
	for i := range q.Responses {
		b.responses.add(q.Responses[i].Source)
	}
	b.sources[m.TokenSource]++
	if m.Answer.Dropped {
		b.dropped++
	}
	if m.OutputTokens.OK {
		b.output = append(b.output, float64(m.OutputTokens.V))
	}
	if m.InputTokens.OK {
		b.input = append(b.input, float64(m.InputTokens.V))
	}
	b.backward += m.Backward
	b.addGaps(m.Answer.Events)
}

// addGaps takes the gaps between token events of one choice, as
// [analyze.Measures] has them, with their ends.
func (b *builder) addGaps(events []analyze.Event) {
	b.lastOf = b.lastOf[:0]
	for _, e := range events {
		i := slices.IndexFunc(b.lastOf, func(c choiceTime) bool { return c.choice == e.Choice })
		if i < 0 {
			b.lastOf = append(b.lastOf, choiceTime{e.Choice, e.RecvNS})
			continue
		}
		// The difference wraps to the right sign; more than 292 years are
		// damage.
		d := int64(e.RecvNS - b.lastOf[i].at)
		if (d >= 0) == (e.RecvNS >= b.lastOf[i].at) {
			b.gaps = append(b.gaps, gap{e.RecvNS, float64(d)})
		}
		b.lastOf[i].at = e.RecvNS
	}
}

func (b *builder) finish(e *export.Experiment, keep bool) Level {
	l := Level{
		Mode: e.Mode, Value: e.Value,
		OK: len(b.rows), Failed: b.failed, Unreadable: b.unreadable,
		TokenSource: b.source(), Responses: b.responses, Starts: b.starts,
		Input: lengths(b.input), Output: lengths(b.output), Backward: b.backward,
	}
	if m := e.Meta; m != nil {
		l.Unstable = m.Stable != nil && !*m.Stable
		l.Interrupted = m.Interrupted
		for _, w := range m.Warnings {
			if why, ok := strings.CutPrefix(w, saturationWarning); ok {
				l.Saturated = append(l.Saturated, why)
			}
		}
	}
	slices.SortStableFunc(b.rows, func(x, y row) int { return cmp.Compare(x.start, y.start) })
	slices.SortStableFunc(b.gaps, func(x, y gap) int { return cmp.Compare(x.end, y.end) })
	for i := range b.rows {
		r := &b.rows[i]
		for q, v := range [...]float64{ttft: r.ttft, tpot: r.tpot, e2el: r.e2el} {
			if quantity(q) != itl && !math.IsNaN(v) {
				l.series[q] = append(l.series[q], v)
			}
		}
	}
	l.series[itl] = make([]float64, len(b.gaps))
	for i := range b.gaps {
		l.series[itl][i] = b.gaps[i].ns
	}
	b.gaps = nil
	l.completions(b)
	l.prompts = b.inOrder()
	l.statistics()
	if !keep {
		l.series, l.spans, l.tokens, l.prompts = [seriesQuantities][]float64{}, nil, nil, nil
	}
	return l
}

// completions fills what the rates come from: for each request the time since
// the completion before it, for the first one since the first start.
func (l *Level) completions(b *builder) {
	if len(b.rows) == 0 {
		return
	}
	first := b.rows[0].start
	done := slices.Clone(b.rows)
	slices.SortStableFunc(done, func(x, y row) int { return cmp.Compare(x.end, y.end) })
	last := done[len(done)-1].end
	if first == 0 || last <= first || last-first > math.MaxInt64 {
		return
	}
	l.DurationNS = int64(last - first)
	known := b.dropped == 0 && len(b.output) > 0
	before := first
	for i := range done {
		// An end before the first start, of a clock set back, takes no time.
		end := max(done[i].end, before)
		l.spans = append(l.spans, float64(end-before)/1e9)
		before = end
		if known {
			n := done[i].count
			if math.IsNaN(n) {
				n = 0
			}
			l.tokens = append(l.tokens, n)
		}
	}
}

// inOrder returns the prompts in the order in which they were issued; nil when
// what was sent is not recorded.
func (b *builder) inOrder() []prompt {
	if b.withInputs < len(b.prompts) || b.unreadable > 0 {
		return nil
	}
	byID := b.ids == len(b.prompts)
	slices.SortStableFunc(b.prompts, func(x, y prompt) int {
		if byID {
			return cmp.Compare(x.id, y.id)
		}
		return cmp.Compare(x.start, y.start)
	})
	return b.prompts
}

// statistics fills values.
func (l *Level) statistics() {
	var sorted [seriesQuantities][]float64
	for q := range l.series {
		sorted[q] = slices.Clone(l.series[q])
		slices.Sort(sorted[q])
	}
	for q := range l.series {
		l.n[q] = len(l.series[q])
	}
	l.n[outputRate], l.n[requestRate], l.n[failedShare] = len(l.tokens), len(l.spans), l.OK+l.Failed
	seconds := float64(l.DurationNS) / 1e9
	for i := range Metrics {
		m := &Metrics[i]
		v := math.NaN()
		switch {
		case m.of < seriesQuantities && m.p > 0:
			v = quantile(sorted[m.of], m.p)
		case m.of < seriesQuantities:
			v = mean(sorted[m.of])
		case m.of == outputRate && seconds > 0 && l.tokens != nil:
			v = sum(l.tokens) / seconds
		case m.of == requestRate && seconds > 0:
			v = float64(l.OK) / seconds
		case m.of == failedShare && l.OK+l.Failed > 0:
			v = float64(l.Failed) / float64(l.OK+l.Failed)
		}
		l.values[i] = v
	}
}

// source sums up where the output tokens come from.
func (b *builder) source() analyze.TokenSource {
	found := analyze.TokenAuto
	for s, n := range b.sources {
		switch {
		case n == 0 || analyze.TokenSource(s) == analyze.TokenAuto:
		case found == analyze.TokenAuto:
			found = analyze.TokenSource(s)
		default:
			return analyze.TokenMixed
		}
	}
	return found
}

func lengths(x []float64) Lengths {
	if len(x) == 0 {
		return Lengths{}
	}
	slices.Sort(x)
	d := Lengths{N: len(x), Mean: mean(x), P50: quantile(x, 0.5), P99: quantile(x, 0.99)}
	for _, v := range x {
		d.Std += (v - d.Mean) * (v - d.Mean)
	}
	d.Std = math.Sqrt(d.Std / float64(len(x)))
	return d
}

// quantile returns the quantile p of type 7 of sorted values, NaN for none.
func quantile(x []float64, p float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	h := p * float64(len(x)-1)
	i := int(h)
	if i+1 >= len(x) {
		return x[len(x)-1]
	}
	return x[i] + (h-float64(i))*(x[i+1]-x[i])
}

// mean returns the mean, NaN of no values. Whole nanoseconds add up exactly up
// to 2^53, 104 days of latency; beyond, the sum is off by less than 1e-9 of it.
func mean(x []float64) float64 { return sum(x) / float64(len(x)) }

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func value(v analyze.Value) float64 {
	if !v.OK {
		return math.NaN()
	}
	return float64(v.V)
}

// hash tells inputs apart. Collisions of 64 bits do not matter: pairs are
// formed only if all prompts of two runs agree.
func hash(f export.Fields) uint64 {
	h := fnv.New64a()
	var size [8]byte
	part := func(b []byte) { // with its length, so that parts cannot run together
		for i := range size {
			size[i] = byte(len(b) >> (8 * i))
		}
		_, _ = h.Write(size[:]) // never fails
		_, _ = h.Write(b)
	}
	for i := range f {
		part([]byte(f[i].Name))
		part(f[i].Value.Data)
	}
	return h.Sum64()
}
