package columnar

import (
	"encoding/json"
	"fmt"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pa-tools/pa/pkg/export"
)

// Indices of the derived columns, from colDerived on.
const (
	derivedErrorClass = iota
	derivedStreamed
	derivedTTFT
	derivedTPOT
	derivedE2EL
	derivedOutputTokens
	derivedInputTokens
	derivedReasoningTokens
	derivedCachedTokens
	derivedTokenSource
	derivedITL
	derivedStreamError
	derivedUnreadable
	derivedAssumed
	derivedTokenEvents
	derivedTokenChoice
	derivedTokenReasoning
	derivedTokenCount
	derivedEvents
	numDerived
)

// derivedFields returns the derived columns.
func derivedFields() []arrow.Field {
	var (
		int32Type  = arrow.PrimitiveTypes.Int32
		int64Type  = arrow.PrimitiveTypes.Int64
		boolType   = arrow.FixedWidthTypes.Boolean
		stringType = arrow.BinaryTypes.String
	)
	event := []arrow.Field{
		{Name: "response", Type: int32Type},
		{Name: "choice", Type: int64Type},
		{Name: "reasoning", Type: boolType},
	}
	one := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	return []arrow.Field{
		one("error_class", stringType),
		one("streamed", boolType),
		one("ttft_ns", int64Type),
		one("tpot_ns", arrow.PrimitiveTypes.Float64),
		one("e2el_ns", int64Type),
		one("output_tokens", int64Type),
		one("input_tokens", int64Type),
		one("reasoning_tokens", int64Type),
		one("cached_tokens", int64Type),
		one("token_source", stringType),
		list("itl_ns", arrow.ListOf(int64Type), true),
		one("stream_error", stringType),
		one("unreadable_events", int64Type),
		one("events_assumed", boolType),
		list("token_events", int32Type, true),
		list("token_choice", int64Type, true),
		list("token_reasoning", boolType, true),
		list("token_count", int32Type, true),
		list("events", arrow.StructOf(event...), true),
	}
}

// derived appends the derived columns of a request. A d of nil appends nulls.
func (b *batch) derived(r *export.Request, d *export.Derived) {
	cols := b.cols[colDerived:]
	if d == nil {
		for _, c := range cols {
			c.null()
		}
		return
	}
	cols[derivedErrorClass].optional(d.Class)
	if d.Streamed == nil {
		cols[derivedStreamed].null()
	} else {
		cols[derivedStreamed].bool(*d.Streamed)
	}
	cols[derivedTTFT].count(d.TTFT)
	if d.HasTPOT {
		cols[derivedTPOT].float(d.TPOT)
	} else {
		cols[derivedTPOT].null()
	}
	cols[derivedE2EL].count(d.E2EL)
	cols[derivedOutputTokens].count(d.OutputTokens)
	cols[derivedInputTokens].count(d.InputTokens)
	cols[derivedReasoningTokens].count(d.ReasoningTokens)
	cols[derivedCachedTokens].count(d.CachedTokens)
	cols[derivedTokenSource].optional(d.TokenSource)
	itl := cols[derivedITL]
	for _, gaps := range d.ITL {
		for _, g := range gaps {
			itl.kids[0].kids[0].number(uint64(g))
		}
		itl.kids[0].endList(true)
	}
	itl.endList(len(d.ITL) > 0)
	cols[derivedStreamError].optional(d.Failure)
	cols[derivedUnreadable].number(uint64(d.Unreadable))
	cols[derivedAssumed].bool(d.Assumed)
	b.events(r, d)
}

// events appends the columns that say which responses are token events.
func (b *batch) events(r *export.Request, d *export.Derived) {
	cols := b.cols[colDerived:]
	number, choice := cols[derivedTokenEvents], cols[derivedTokenChoice]
	reasoning, tokens := cols[derivedTokenReasoning], cols[derivedTokenCount]
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
	next := 0
	perResponse := b.perResponse(len(r.Responses), d)
	for i := range r.Responses {
		n := perResponse[i]
		number.kids[0].number(uint64(n))
		if n == 0 || !simple {
			choice.kids[0].null()
		} else {
			choice.kids[0].number(uint64(d.Events[next].Choice))
		}
		if reasons {
			reasoning.kids[0].bool(n > 0 && simple && d.Events[next].Reasoning)
		}
		if known {
			tokens.kids[0].number(uint64(n))
		}
		next += int(n)
	}
	number.endList(true)
	choice.endList(true)
	reasoning.endList(reasons)
	tokens.endList(known)
	events := cols[derivedEvents]
	if !simple {
		for i := range d.Events {
			e := &d.Events[i]
			element := events.kids[0]
			element.kids[0].number(uint64(e.Response))
			element.kids[1].number(uint64(e.Choice))
			element.kids[2].bool(e.Reasoning)
			element.end(true)
		}
	}
	events.endList(!simple)
}

// perResponse returns the number of token events of each of n responses, in memory that
// the next call uses again.
func (b *batch) perResponse(n int, d *export.Derived) []int32 {
	if cap(b.counts) < n {
		b.counts = make([]int32, n)
	}
	b.counts = b.counts[:n]
	clear(b.counts)
	for i := range d.Events {
		b.counts[d.Events[i].Response]++
	}
	return b.counts
}

// decodeDerived sets d.derived from the derived columns of a row. ok is false for a row
// without them.
func (d *rowDecoder) decodeDerived(t *rows, i int) (ok bool) {
	cols := t.cols[colDerived:]
	from, to, ok := cols[derivedTokenEvents].list(i)
	if !ok {
		return false
	}
	x := &d.derived
	*x = export.Derived{
		Events: x.Events[:0], ITL: x.ITL[:0],
		Class:       d.intern(cols[derivedErrorClass].str(i)),
		TTFT:        countOf(cols[derivedTTFT], i),
		E2EL:        countOf(cols[derivedE2EL], i),
		InputTokens: countOf(cols[derivedInputTokens], i), OutputTokens: countOf(cols[derivedOutputTokens], i),
		ReasoningTokens: countOf(cols[derivedReasoningTokens], i), CachedTokens: countOf(cols[derivedCachedTokens], i),
		TokenSource: d.intern(cols[derivedTokenSource].str(i)),
		Failure:     d.intern(cols[derivedStreamError].str(i)),
		Unreadable:  int(cols[derivedUnreadable].num(i)),
		Assumed:     cols[derivedAssumed].num(i) != 0,
	}
	if v := cols[derivedStreamed]; v != nil && !v.null(i) {
		streamed := v.num(i) != 0
		x.Streamed = &streamed
	}
	if a, b, some := cols[derivedITL].list(i); some {
		lists := cols[derivedITL].kids[0]
		for k := a; k < b; k++ {
			first, last, _ := lists.list(k)
			gaps := make([]int64, 0, last-first)
			for e := first; e < last; e++ {
				gaps = append(gaps, int64(lists.kids[0].num(e)))
			}
			x.ITL = append(x.ITL, gaps)
		}
	}
	if a, b, several := cols[derivedEvents].list(i); several {
		element := cols[derivedEvents].kids[0]
		for e := a; e < b; e++ {
			at := element.kids[0].num(e)
			if at >= uint64(len(d.responses)) {
				d.odd = fmt.Sprintf("a token event of response %d of %d", int64(at), len(d.responses))
				return false
			}
			x.Events = append(x.Events, export.TokenEvent{Response: int32(at), Choice: int64(element.kids[1].num(e)), Reasoning: element.kids[2].num(e) != 0})
		}
		return true
	}
	if to-from != len(d.responses) {
		d.odd = fmt.Sprintf("%d responses but %d values of token_events", len(d.responses), to-from)
		return false
	}
	number := cols[derivedTokenEvents].kids[0]
	choice, choiceFrom, haveChoice := elements(cols[derivedTokenChoice], i, to-from)
	reasoning, reasoningFrom, haveReasoning := elements(cols[derivedTokenReasoning], i, to-from)
	for k := range to - from {
		n := number.num(from + k)
		if n > maxEvents-uint64(len(x.Events)) {
			d.odd = fmt.Sprintf("a response with %d token events", int64(n))
			return false
		}
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

// maxEvents bounds the token events of a request in a damaged file.
const maxEvents = 1 << 24

// elements returns the elements of list i of v and the index of the first; ok is false
// unless there are n.
func elements(v *vector, i, n int) (element *vector, first int, ok bool) {
	from, to, ok := v.list(i)
	if !ok || to-from != n {
		return nil, 0, false
	}
	return v.kids[0], from, true
}

// countOf returns number i of v; null is no number.
func countOf(v *vector, i int) export.Count {
	if v == nil || v.null(i) {
		return export.Count{}
	}
	return export.Count{V: int64(v.num(i)), OK: true}
}

// derivationText and parseDerivation convert a derivation to JSON and back.
func derivationText(d export.Derivation) (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

func parseDerivation(text string) (d export.Derivation, err error) {
	if err = json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("metadata %s: %w", derivedKey, err)
	}
	return d, nil
}
