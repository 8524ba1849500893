package columnar

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// addDerived appends the derived columns of r; nulls if d is nil.
func (b *batch) addDerived(r *export.Request, d *export.Derived) {
	if d == nil {
		for _, c := range b.cols[firstDerived:] {
			c.appendNull()
		}
		return
	}
	for _, s := range derivedScalars {
		b.cols[s.col].appendScalar(s.derived(d), s.zero, false)
	}
	if d.HasTPOT {
		b.cols[colTPOT].appendFloat(d.TPOT)
	} else {
		b.cols[colTPOT].appendNull()
	}
	b.addITL(d.ITL)
	b.addSummary(r, d.Responses)
	b.addEvents(r, d)
}

// addITL appends the list of the gaps of each choice.
func (b *batch) addITL(all [][]int64) {
	itl := b.cols[colITL]
	for _, gaps := range all {
		cells := itl.children[0].children[0].extend(len(gaps))
		for i, g := range gaps {
			binary.LittleEndian.PutUint64(cells[8*i:], uint64(g))
		}
		itl.children[0].endList(true)
	}
	itl.endList(len(all) > 0)
}

// addSummary appends the columns that sum up the responses; s is nil if their times do not fit.
func (b *batch) addSummary(r *export.Request, s *export.ResponseSummary) {
	b.cols[colResponses].appendNumber(uint64(len(r.Responses)))
	var kernel, user, first export.Count
	if s != nil {
		kernel, user = export.Count{V: int64(s.Kernel), OK: true}, export.Count{V: int64(s.User), OK: true}
		first = export.Count{V: s.First, OK: s.N > 0}
	}
	b.cols[colKernelStamps].appendCount(kernel)
	b.cols[colUserStamps].appendCount(user)
	b.cols[colFirstResponse].appendCount(first)
}

// addEvents appends the columns that say which responses are token events.
func (b *batch) addEvents(r *export.Request, d *export.Derived) {
	number, choice := b.cols[colTokenEvents], b.cols[colTokenChoice]
	reasoning, tokens := b.cols[colTokenReasoning], b.cols[colTokenCount]
	reasons, simple := false, true
	for i := range d.Events {
		e := &d.Events[i]
		reasons = reasons || e.Reasoning
		if i > 0 {
			p := &d.Events[i-1]
			simple = simple && e.Response >= p.Response && (e.Response > p.Response || e.Choice == p.Choice && e.Reasoning == p.Reasoning)
		}
	}
	known := d.OutputTokens.OK && d.OutputTokens.V == int64(len(d.Events))
	perResponse := b.countEvents(len(r.Responses), d)
	setNumbers(number.children[0], perResponse)
	var perTokens []int32 // tokens of each response
	if d.EventTokens {
		perTokens = make([]int32, len(r.Responses))
		for i := range d.Events {
			e := &d.Events[i]
			perTokens[e.Response] += e.Tokens
		}
	}
	switch {
	case d.EventTokens:
		setNumbers(tokens.children[0], perTokens)
	case known:
		setNumbers(tokens.children[0], perResponse)
	}
	next := 0
	for from := 0; from < len(perResponse); {
		to := from // up to here, all responses have events
		for simple && to < len(perResponse) && perResponse[to] > 0 {
			to++
		}
		cells := choice.children[0].extend(to - from)
		for i, n := range perResponse[from:to] {
			binary.LittleEndian.PutUint64(cells[8*i:], uint64(d.Events[next].Choice))
			if reasons {
				reasoning.children[0].appendBool(d.Events[next].Reasoning)
			}
			next += int(n)
		}
		for from = to; from < len(perResponse) && (perResponse[from] == 0 || !simple); from++ {
			choice.children[0].appendNull()
			if reasons {
				reasoning.children[0].appendBool(false)
			}
		}
	}
	number.endList(true)
	choice.endList(true)
	reasoning.endList(reasons)
	tokens.endList(known || d.EventTokens)
	events := b.cols[colEvents]
	if !simple {
		for i := range d.Events {
			e := &d.Events[i]
			element := events.children[0]
			element.children[0].appendNumber(uint64(e.Response))
			element.children[1].appendNumber(uint64(e.Choice))
			element.children[2].appendBool(e.Reasoning)
			element.endValue(true)
		}
	}
	events.endList(!simple)
	each := b.cols[colEventTokens]
	if d.EventTokens {
		for i := range d.Events {
			each.children[0].appendNumber(uint64(d.Events[i].Tokens))
		}
	}
	each.endList(d.EventTokens)
}

// setNumbers appends numbers to c, a column of 32 bits.
func setNumbers(c *arrowColumn, numbers []int32) {
	cells := c.extend(len(numbers))
	for i, v := range numbers {
		binary.LittleEndian.PutUint32(cells[4*i:], uint32(v))
	}
}

// countEvents returns the number of token events of each of n responses. The result is
// valid until the next call.
func (b *batch) countEvents(n int, d *export.Derived) []int32 {
	if cap(b.eventCounts) < n {
		b.eventCounts = make([]int32, n)
	}
	b.eventCounts = b.eventCounts[:n]
	clear(b.eventCounts)
	for i := range d.Events {
		b.eventCounts[d.Events[i].Response]++
	}
	return b.eventCounts
}

// decodeDerived sets d.derived from the derived columns of row i. ok is false if the row
// has none or they are damaged; d.defect then describes the damage.
func (d *rowDecoder) decodeDerived(t *rows, i int) (ok bool) {
	from, to, ok := t.cols[colTokenEvents].list(i)
	if !ok && !t.brief {
		return false
	}
	x := &d.derived
	*x = export.Derived{Events: x.Events[:0], ITL: x.ITL[:0]}
	for _, s := range derivedScalars {
		if v := t.cols[s.col]; v != nil && !v.null(i) {
			d.decodeScalar(s.derived(x), v, i)
		}
	}
	d.decodeITL(t.cols[colITL], i)
	d.decodeSummary(t, i)
	if t.brief {
		return d.useSummary()
	}
	return d.decodeEvents(t, i, from, to) && d.decodeEventTokens(t.cols[colEventTokens], i)
}

// decodeEvents sets the Events of d.derived; from and to is the list of token_events of row i.
func (d *rowDecoder) decodeEvents(t *rows, i, from, to int) (ok bool) {
	x := &d.derived
	if a, b, several := t.cols[colEvents].list(i); several {
		element := t.cols[colEvents].children[0]
		for e := a; e < b; e++ {
			at := element.children[0].num(e)
			if at >= uint64(len(d.responses)) {
				d.defect = fmt.Sprintf("column events: there is no response %d among %d", int64(at), len(d.responses))
				return false
			}
			x.Events = append(x.Events, export.TokenEvent{Response: int32(at), Choice: int64(element.children[1].num(e)), Reasoning: element.children[2].num(e) != 0})
		}
		return true
	}
	if to-from != len(d.responses) {
		d.defect = fmt.Sprintf("%d responses but %d values of token_events", len(d.responses), to-from)
		return false
	}
	number := t.cols[colTokenEvents].children[0]
	choice, choiceFrom, haveChoice := elements(t.cols[colTokenChoice], i, to-from)
	reasoning, reasoningFrom, haveReasoning := elements(t.cols[colTokenReasoning], i, to-from)
	x.Events = slices.Grow(x.Events, to-from)
	room := d.furtherEvents()
	for k := range to - from {
		n := number.num(from + k)
		if n == 0 {
			continue
		}
		if n-1 > room {
			d.defect = fmt.Sprintf("column token_events: response %d has %d token events, but column itl_ns has %s for them", k, int32(n), plural.Of(int(room), "more gap"))
			return false
		}
		room -= n - 1
		e := export.TokenEvent{Response: int32(k)}
		if haveChoice {
			e.Choice = int64(choice.num(choiceFrom + k))
		}
		if haveReasoning {
			e.Reasoning = reasoning.num(reasoningFrom+k) != 0
		}
		for range n {
			x.Events = append(x.Events, e)
		}
	}
	return true
}

// maxUnseen bounds the token events that a request without gaps has beyond one for each
// response: an answer that is not known to be streamed has none.
const maxUnseen = 1024

// furtherEvents returns how many token events d.derived may have beyond the first event of each response.
// Such an event has a gap of 0 to the event before it, which column itl_ns holds if the answer was
// streamed. So a number in column token_events never makes up more events than the file holds.
func (d *rowDecoder) furtherEvents() uint64 {
	n := 0
	for _, gaps := range d.derived.ITL {
		n += len(gaps)
	}
	if s := d.derived.Streamed; s == nil || !*s {
		n = max(n, maxUnseen)
	}
	return uint64(n)
}

// decodeITL sets the gaps of the derived values from row i of v.
func (d *rowDecoder) decodeITL(v *vector, i int) {
	from, to, ok := v.list(i)
	if !ok {
		return
	}
	lists := v.children[0]
	d.gaps = d.gaps[:0]
	for k := from; k < to; k++ {
		first, last, _ := lists.list(k)
		at := len(d.gaps)
		for e := first; e < last; e++ {
			d.gaps = append(d.gaps, int64(lists.children[0].num(e)))
		}
		d.derived.ITL = append(d.derived.ITL, d.gaps[at:len(d.gaps):len(d.gaps)])
	}
}

// decodeSummary sets the sum of the responses from row i of the derived columns; nil if the
// file has none, or a wrong one.
func (d *rowDecoder) decodeSummary(t *rows, i int) {
	n, kernel, user := countOf(t.cols[colResponses], i), countOf(t.cols[colKernelStamps], i), countOf(t.cols[colUserStamps], i)
	first, last := countOf(t.cols[colFirstResponse], i), d.derived.E2EL
	if !n.OK || !kernel.OK || !user.OK || n.V < 0 || n.V > math.MaxInt32 || kernel.V < 0 || kernel.V > n.V || user.V < 0 || user.V > n.V-kernel.V {
		return
	}
	d.summary = export.ResponseSummary{N: int(n.V), Kernel: int(kernel.V), User: int(user.V)}
	if n.V > 0 {
		if !first.OK || !last.OK {
			return
		}
		d.summary.First, d.summary.Last = first.V, last.V
	}
	d.derived.Responses = &d.summary
}

// useSummary makes the request of a brief row have a summary in place of responses. ok is
// false if the derived values contradict each other; d.defect then describes it.
func (d *rowDecoder) useSummary() (ok bool) {
	x := &d.derived
	d.req.Summary = x.Responses
	gaps := int64(0)
	if len(x.ITL) > 0 {
		gaps = int64(len(x.ITL[0]))
	}
	n := x.ITLEvents
	if x.Responses == nil || !n.OK || n.V < 0 || len(x.ITL) > 1 || gaps != max(0, n.V-1) || n.V > 0 && (!x.TTFT.OK || x.Responses.N == 0) {
		d.defect = "columns responses, first_response_ns, ttft_ns, e2el_ns, itl_ns and itl_events contradict each other"
		return false
	}
	return true
}

// decodeEventTokens sets the Tokens of the Events of d.derived from column event_tokens; null if they
// are not known.
func (d *rowDecoder) decodeEventTokens(v *vector, i int) (ok bool) {
	x := &d.derived
	from, to, some := v.list(i)
	if !some {
		return true
	}
	if to-from != len(x.Events) {
		d.defect = fmt.Sprintf("%d token events but %d values of event_tokens", len(x.Events), to-from)
		return false
	}
	left := uint64(math.MaxInt32) // of the first event
	for k := range x.Events {
		n := v.children[0].num(from + k)
		if n > left {
			d.defect = fmt.Sprintf("column event_tokens: an event of %d tokens, which are too many for a request with %s", int32(n), plural.Of(len(x.Events), "event"))
			return false
		}
		if left -= n; k == 0 {
			left = uint64(export.MostEventTokens(len(x.Events)))
		}
		x.Events[k].Tokens = int32(n)
	}
	x.EventTokens = true
	return true
}

// elements returns the elements of list i of v and the index of the first element. ok is
// false unless the list has n elements.
func elements(v *vector, i, n int) (element *vector, first int, ok bool) {
	from, to, ok := v.list(i)
	if !ok || to-from != n {
		return nil, 0, false
	}
	return v.children[0], from, true
}

// countOf returns number i of v; a missing Count for null.
func countOf(v *vector, i int) export.Count {
	if v == nil || v.null(i) {
		return export.Count{}
	}
	return export.Count{V: int64(v.num(i)), OK: true}
}

// derivationText returns d as JSON.
func derivationText(d export.Derivation) (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

// parseDerivation is the inverse of derivationText.
func parseDerivation(text string) (d export.Derivation, err error) {
	if err = json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("metadata %s: %w", derivedKey, err)
	}
	return d, nil
}
