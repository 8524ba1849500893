package columnar

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/pa-tools/pa/internal/plural"
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
	derivedInputCounted
	derivedITL
	derivedStreamError
	derivedUnreadable
	derivedAssumed
	derivedTokenEvents
	derivedTokenChoice
	derivedTokenReasoning
	derivedTokenCount
	derivedEvents
	derivedResponses
	derivedKernelStamps
	derivedUserStamps
	derivedFirstResponse
	derivedTTFAT
	derivedITLEvents
	derivedServerPrefill
	derivedServerDecode
	derivedEventTokens
	derivedTimedTokens
	derivedHiddenTokens
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
		one("input_counted", boolType),
		listColumn("itl_ns", arrow.ListOf(int64Type), true),
		one("stream_error", stringType),
		one("unreadable_events", int64Type),
		one("events_assumed", boolType),
		listColumn("token_events", int32Type, true),
		listColumn("token_choice", int64Type, true),
		listColumn("token_reasoning", boolType, true),
		listColumn("token_count", int32Type, true),
		listColumn("events", arrow.StructOf(event...), true),
		one("responses", int64Type),
		one("kernel_stamps", int64Type),
		one("user_stamps", int64Type),
		one("first_response_ns", int64Type),
		one("ttfat_ns", int64Type),
		one("itl_events", int64Type),
		one("server_prefill_ns", int64Type),
		one("server_decode_ns", int64Type),
		listColumn("event_tokens", int32Type, true),
		one("timed_tokens", int64Type),
		one("hidden_tokens", int64Type),
	}
}

// isBriefColumn reports whether the column replaces the columns of the responses in rows of
// brief requests.
func isBriefColumn(col int) bool {
	switch col - colDerived {
	case derivedResponses, derivedKernelStamps, derivedUserStamps, derivedFirstResponse, derivedTTFAT, derivedITLEvents, derivedITL:
		return true
	}
	return false
}

// isResponseColumn reports whether rows of brief requests need not have the column.
func isResponseColumn(col int) bool {
	switch col {
	case colRecv, colSource, colRead, colFinal, colError, colOutputs,
		colDerived + derivedTokenEvents, colDerived + derivedTokenChoice, colDerived + derivedTokenReasoning,
		colDerived + derivedTokenCount, colDerived + derivedEvents:
		return true
	}
	return false
}

// addDerived appends the derived columns of r; nulls if d is nil.
func (b *batch) addDerived(r *export.Request, d *export.Derived) {
	cols := b.cols[colDerived:]
	if d == nil {
		for _, c := range cols {
			c.appendNull()
		}
		return
	}
	cols[derivedErrorClass].appendOptional(d.Class)
	if d.Streamed == nil {
		cols[derivedStreamed].appendNull()
	} else {
		cols[derivedStreamed].appendBool(*d.Streamed)
	}
	cols[derivedTTFT].appendCount(d.TTFT)
	if d.HasTPOT {
		cols[derivedTPOT].appendFloat(d.TPOT)
	} else {
		cols[derivedTPOT].appendNull()
	}
	cols[derivedE2EL].appendCount(d.E2EL)
	cols[derivedOutputTokens].appendCount(d.OutputTokens)
	cols[derivedInputTokens].appendCount(d.InputTokens)
	cols[derivedReasoningTokens].appendCount(d.ReasoningTokens)
	cols[derivedCachedTokens].appendCount(d.CachedTokens)
	cols[derivedTokenSource].appendOptional(d.TokenSource)
	cols[derivedInputCounted].appendBool(d.InputCounted)
	itl := cols[derivedITL]
	for _, gaps := range d.ITL {
		cells := itl.children[0].children[0].extend(len(gaps))
		for i, g := range gaps {
			binary.LittleEndian.PutUint64(cells[8*i:], uint64(g))
		}
		itl.children[0].endList(true)
	}
	itl.endList(len(d.ITL) > 0)
	cols[derivedStreamError].appendOptional(d.Failure)
	cols[derivedUnreadable].appendNumber(uint64(d.Unreadable))
	cols[derivedAssumed].appendBool(d.Assumed)
	cols[derivedTTFAT].appendCount(d.TTFAT)
	cols[derivedITLEvents].appendCount(d.ITLEvents)
	cols[derivedResponses].appendNumber(uint64(len(r.Responses)))
	if s := d.Responses; s != nil {
		cols[derivedKernelStamps].appendNumber(uint64(s.Kernel))
		cols[derivedUserStamps].appendNumber(uint64(s.User))
		cols[derivedFirstResponse].appendCount(export.Count{V: s.First, OK: s.N > 0})
	} else {
		cols[derivedKernelStamps].appendNull()
		cols[derivedUserStamps].appendNull()
		cols[derivedFirstResponse].appendNull()
	}
	cols[derivedServerPrefill].appendCount(d.ServerPrefill)
	cols[derivedServerDecode].appendCount(d.ServerDecode)
	b.addEvents(r, d)
	tokens := cols[derivedEventTokens]
	if d.EventTokens {
		for i := range d.Events {
			tokens.children[0].appendNumber(uint64(d.Events[i].Tokens))
		}
	}
	tokens.endList(d.EventTokens)
	cols[derivedTimedTokens].appendCount(d.TimedTokens)
	cols[derivedHiddenTokens].appendCount(d.HiddenTokens)
}

// addEvents appends the columns that say which responses are token events.
func (b *batch) addEvents(r *export.Request, d *export.Derived) {
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
	events := cols[derivedEvents]
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
}

// setNumbers appends numbers to c, a column of 32 bits.
func setNumbers(c *column, numbers []int32) {
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
	cols := t.cols[colDerived:]
	from, to, ok := cols[derivedTokenEvents].list(i)
	if !ok && !t.brief {
		return false
	}
	x := &d.derived
	*x = export.Derived{
		Events: x.Events[:0], ITL: x.ITL[:0],
		Class:       d.intern(cols[derivedErrorClass].bytes(i)),
		TTFT:        countOf(cols[derivedTTFT], i),
		E2EL:        countOf(cols[derivedE2EL], i),
		InputTokens: countOf(cols[derivedInputTokens], i), OutputTokens: countOf(cols[derivedOutputTokens], i),
		ReasoningTokens: countOf(cols[derivedReasoningTokens], i), CachedTokens: countOf(cols[derivedCachedTokens], i),
		TokenSource:   d.intern(cols[derivedTokenSource].bytes(i)),
		InputCounted:  cols[derivedInputCounted].num(i) != 0,
		Failure:       d.intern(cols[derivedStreamError].bytes(i)),
		Unreadable:    int(cols[derivedUnreadable].num(i)),
		Assumed:       cols[derivedAssumed].num(i) != 0,
		ServerPrefill: countOf(cols[derivedServerPrefill], i), ServerDecode: countOf(cols[derivedServerDecode], i),
		TimedTokens: countOf(cols[derivedTimedTokens], i), HiddenTokens: countOf(cols[derivedHiddenTokens], i),
	}
	if v := cols[derivedStreamed]; v != nil && !v.null(i) {
		streamed := v.num(i) != 0
		x.Streamed = &streamed
	}
	d.decodeITL(cols[derivedITL], i)
	x.TTFAT, x.ITLEvents = countOf(cols[derivedTTFAT], i), countOf(cols[derivedITLEvents], i)
	d.decodeSummary(cols, i)
	if t.brief {
		return d.useSummary()
	}
	return d.decodeEvents(cols, i, from, to) && d.decodeEventTokens(cols[derivedEventTokens], i)
}

// decodeEvents sets the Events of d.derived; from and to is the list of token_events of row i.
func (d *rowDecoder) decodeEvents(cols []*vector, i, from, to int) (ok bool) {
	x := &d.derived
	if a, b, several := cols[derivedEvents].list(i); several {
		element := cols[derivedEvents].children[0]
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
	number := cols[derivedTokenEvents].children[0]
	choice, choiceFrom, haveChoice := elements(cols[derivedTokenChoice], i, to-from)
	reasoning, reasoningFrom, haveReasoning := elements(cols[derivedTokenReasoning], i, to-from)
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
func (d *rowDecoder) decodeSummary(cols []*vector, i int) {
	n, kernel, user := countOf(cols[derivedResponses], i), countOf(cols[derivedKernelStamps], i), countOf(cols[derivedUserStamps], i)
	first, last := countOf(cols[derivedFirstResponse], i), d.derived.E2EL
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
