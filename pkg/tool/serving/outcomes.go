package serving

import (
	"iter"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// outcomes keeps the outcomes of a level, each member of outcome in a list of its own. The
// texts are kept in memory, and only if the result file shows them.
type outcomes struct {
	detailed bool
	n        int
	members  [len(members)]*stat.List
	flags    *stat.List
	// gaps and tokens hold outcome.itl and outcome.gapTokens of all outcomes; gapsTo and
	// tokensTo hold their lengths after each outcome.
	gaps, gapsTo, tokens, tokensTo *stat.List
	texts, errs                    []string

	// order holds the numbers of the outcomes in the order in which each yields them; nil: the
	// order of add.
	order []int32
	// cursors read the lists that lists returns; nil before the first at.
	cursors []*stat.Cursor
	one     outcome // the outcome that at returns
}

// lists returns all lists, the lists of members first.
func (s *outcomes) lists() []*stat.List {
	return append(s.members[:], s.flags, s.gaps, s.gapsTo, s.tokens, s.tokensTo)
}

// members lists the numbers of an outcome, as integers.
var members = [...]struct {
	get func(o *outcome) int64
	set func(o *outcome, v int64)
}{
	{func(o *outcome) int64 { return int64(o.id) }, func(o *outcome, v int64) { o.id = uint64(v) }},
	{func(o *outcome) int64 { return int64(o.startNS) }, func(o *outcome, v int64) { o.startNS = uint64(v) }},
	{func(o *outcome) int64 { return int64(o.endNS) }, func(o *outcome, v int64) { o.endNS = uint64(v) }},
	{func(o *outcome) int64 { return int64(o.scheduledNS) }, func(o *outcome, v int64) { o.scheduledNS = uint64(v) }},
	{func(o *outcome) int64 { return int64(o.issuedNS) }, func(o *outcome, v int64) { o.issuedNS = uint64(v) }},
	{func(o *outcome) int64 { return stat.Key(o.ttft) }, func(o *outcome, v int64) { o.ttft = stat.FromKey(v) }},
	{func(o *outcome) int64 { return stat.Key(o.latency) }, func(o *outcome, v int64) { o.latency = stat.FromKey(v) }},
	{func(o *outcome) int64 { return o.input }, func(o *outcome, v int64) { o.input = v }},
	{func(o *outcome) int64 { return o.inputShown }, func(o *outcome, v int64) { o.inputShown = v }},
	{func(o *outcome) int64 { return o.output }, func(o *outcome, v int64) { o.output = v }},
	{func(o *outcome) int64 { return o.retokenized }, func(o *outcome, v int64) { o.retokenized = v }},
	{func(o *outcome) int64 { return o.iterations }, func(o *outcome, v int64) { o.iterations = v }},
	{func(o *outcome) int64 { return stat.Key(o.decoded) }, func(o *outcome, v int64) { o.decoded = stat.FromKey(v) }},
}

// The bits of outcomes.flags.
const (
	flagSuccess = 1 << iota
	flagWhole
	flagNoDecoded
)

func newOutcomes(store *stat.Store, detailed bool) *outcomes {
	list := func() *stat.List { return store.NewList(stat.Whole) }
	s := &outcomes{detailed: detailed, flags: list(), gaps: store.NewList(stat.Seconds), gapsTo: list(), tokens: list(), tokensTo: list()}
	for i := range s.members {
		s.members[i] = list()
	}
	return s
}

// add adds an outcome, without outcome.raised. It keeps no reference to o.
func (s *outcomes) add(o *outcome) {
	s.n++
	for i := range members {
		s.members[i].Add(members[i].get(o))
	}
	flags := int64(0)
	if o.success {
		flags |= flagSuccess
	}
	if o.whole {
		flags |= flagWhole
	}
	if o.noDecoded {
		flags |= flagNoDecoded
	}
	s.flags.Add(flags)
	s.gaps.Add(o.itl...)
	s.gapsTo.Add(int64(s.gaps.Len()))
	s.tokens.Add(o.gapTokens...)
	s.tokensTo.Add(int64(s.tokens.Len()))
	if s.detailed {
		s.texts, s.errs = append(s.texts, o.text), append(s.errs, o.err)
	}
}

// sort makes each and at follow the order in which the requests were issued. It is called
// once, after the last add.
func (s *outcomes) sort() {
	type request struct {
		id, startNS uint64
		number      int32
	}
	all := make([]request, 0, s.n)
	for i := range s.n {
		o := s.at(i, false)
		all = append(all, request{o.id, o.startNS, int32(i)}) //nolint:gosec // there are not 2^31 requests in memory
	}
	all = dialect.InOrder(all, func(r request) uint64 { return r.id }, func(r request) uint64 { return r.startNS })
	order, moved := make([]int32, s.n), false
	for i, r := range all {
		order[i] = r.number
		moved = moved || int(r.number) != i
	}
	if moved {
		s.order = order
	}
}

// each yields all outcomes in their order, as at returns them.
func (s *outcomes) each(gaps bool) iter.Seq[*outcome] {
	return func(yield func(*outcome) bool) {
		for i := range s.n {
			if !yield(s.at(i, gaps)) {
				return
			}
		}
	}
}

// at returns outcome i until the next call of at. Without gaps it lacks itl and gapTokens.
func (s *outcomes) at(i int, gaps bool) *outcome {
	if s.cursors == nil {
		for _, l := range s.lists() {
			s.cursors = append(s.cursors, l.NewCursor())
		}
	}
	if s.order != nil {
		i = int(s.order[i])
	}
	o, more := &s.one, s.cursors[len(members):]
	*o = outcome{itl: o.itl[:0], gapTokens: o.gapTokens[:0]}
	for k := range members {
		members[k].set(o, s.cursors[k].At(i))
	}
	flags := more[0].At(i)
	o.success, o.whole, o.noDecoded = flags&flagSuccess != 0, flags&flagWhole != 0, flags&flagNoDecoded != 0
	if s.detailed {
		o.text, o.err = s.texts[i], s.errs[i]
	}
	if gaps {
		o.itl = part(o.itl, more[1], more[2], i)
		o.gapTokens = part(o.gapTokens, more[3], more[4], i)
	}
	return o
}

// part appends the values of outcome i to all. valuesAt reads the values of all outcomes; to reads, for each
// outcome, the number of values up to its end.
func part(all []int64, valuesAt, to *stat.Cursor, i int) []int64 {
	from := 0
	if i > 0 {
		from = int(to.At(i - 1))
	}
	return valuesAt.Append(all, from, int(to.At(i)))
}

// release drops all outcomes.
func (s *outcomes) release() {
	for _, l := range s.lists() {
		l.Release()
	}
	*s = outcomes{}
}
