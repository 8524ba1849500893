package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// The numbers of tokens in a block.
const (
	mooncakeBlock = 512
	bailianBlock  = 16
)

// A mooncake reads rows of Mooncake's traces.
type mooncake struct {
	f *file
	o *Options
}

// mooncakeRequest returns the entry of a row of Mooncake's traces. They have lengths of prompts, and hash ids
// that identify equal blocks:
//
//	{"timestamp": MS, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, …]}
//
// Traces of Bailian have times in seconds, "chat_id" and blocks of 16 tokens. Only
// "input_length" is required. A row with a prompt is read like a row of the layout prompts, because
// its own text is not to be replaced by a made-up one of the same length.
func mooncakeRequest(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	l := mooncake{f, o}
	e, m, err := l.read(r, i)
	if err == nil {
		err = l.addText(&e, m, i)
	}
	if err != nil {
		return nil, err
	}
	return []workload.Entry{e}, nil
}

// A mooncakeText is what a row says of a text that is not in it.
type mooncakeText struct {
	tokens int // 0 for a row with a prompt
	ids    []int64
	block  int // tokens of a block
}

// read reads a row, without making a text.
func (l mooncake) read(r *row, i int) (e workload.Entry, m mooncakeText, err error) {
	if hasPrompt(r) { // rows with and without texts may alternate
		if e, err = readPrompt(r, l.f, l.o, mooncakeMembers...); err == nil && l.f.opening {
			l.keep(e.Session, blocksBefore{})
		}
		return e, m, err
	}
	tokens, ok, err := r.count("input_length")
	switch {
	case err != nil:
		return e, m, err
	case !ok:
		return e, m, missing(r, "input_length")
	}
	known := append([]string{"input_length", "hash_ids", "type", "chat_id", "parent_chat_id", "turn"}, mooncakeMembers...)
	if e, err = readPromptMembers(r, l.f, known...); err != nil {
		return e, m, err
	}
	if r.has("chat_id") {
		e.Offset *= 1000 // Bailian's times are in seconds
	}
	m = mooncakeText{tokens: tokens, block: l.blockTokens(r)}
	if m.ids, err = r.hashIDs(); err != nil {
		return e, m, err
	}
	if tokens == 0 {
		return e, m, errors.New(`"input_length": 0: must be at least 1`)
	}
	if l.f.opening {
		l.compare(e.Session, i, m.ids, tokens%m.block != 0)
	}
	e.Whole = l.whole(i)
	return e, m, nil
}

// addText makes the text of an entry, if its row has only its length.
func (l mooncake) addText(e *workload.Entry, m mooncakeText, i int) error {
	if m.tokens == 0 {
		return nil
	}
	return l.text(e.Prompt, i, m.tokens, m.ids, m.block)
}

// whole reports whether row i, a later turn of a conversation, is the whole prompt, with the
// history.
func (l mooncake) whole(i int) bool {
	switch l.o.TraceRows {
	case RowsWhole:
		return true
	case RowsNew:
		return false
	}
	return l.f.isWhole(i)
}

// isWhole reports whether setWhole was called for row i.
func (f *file) isWhole(i int) bool { return i/64 < len(f.whole) && f.whole[i/64]>>(i%64)&1 == 1 }

// compare finds out by the hash ids of row i whether it is a whole prompt: then it begins like the first row of its session, or like
// the row before if the context was reset. partial says that the last block is not full.
func (l mooncake) compare(session string, i int, ids []int64, partial bool) {
	f := l.f
	if ids != nil {
		f.facts.Blocks++
	}
	if session == "" {
		return
	}
	known, later := f.blocks[session]
	switch {
	case !later:
		known.first, known.given, known.partial = firstID(ids), len(ids) > 0, partial && len(ids) == 1
	case known.given && len(ids) > 0 && (ids[0] == known.first || ids[0] == known.before):
		f.facts.TraceWhole++
		f.setWhole(i)
	case !known.given || known.partial || len(ids) == 0:
		f.facts.TraceUnknown++
		f.unknown = append(f.unknown, uint32(i)) //nolint:gosec // rows are fewer
	default:
		f.facts.TraceNew++
	}
	known.before = firstID(ids)
	l.keep(session, known)
}

// firstID returns the first of some ids; 0 if there are none.
func firstID(ids []int64) int64 {
	if len(ids) == 0 {
		return 0
	}
	return ids[0]
}

// setWhole notes that row i is a whole prompt.
func (f *file) setWhole(i int) {
	for len(f.whole) <= i/64 {
		f.whole = append(f.whole, 0)
	}
	f.whole[i/64] |= 1 << (i % 64)
}

// resolveRows takes the later turns for what all others in the file are, if nothing says what they hold. It returns an error if
// there is no such thing.
func (f *file) resolveRows() error {
	x := f.facts
	switch {
	case len(f.unknown) == 0 || f.options.TraceRows != RowsByContent:
		return nil
	case x.TraceNew > 0 && x.TraceWhole == 0:
		x.TraceNew += len(f.unknown)
	case x.TraceWhole > 0 && x.TraceNew == 0:
		x.TraceWhole += len(f.unknown)
		for _, i := range f.unknown {
			f.setWhole(int(i))
		}
	default:
		return f.rows.fault(int(f.unknown[0]), errors.New(`a later turn with "input_length", and nothing that says whether it is the whole prompt or what it adds to the turn before; use --trace-rows whole or --trace-rows new`))
	}
	f.assume("turns whose \"hash_ids\" do not say whether they are whole prompts are read like the other turns")
	x.TraceUnknown -= len(f.unknown)
	f.unknown = nil
	return nil
}

// keep keeps what is known of a row for the next one of its session.
func (l mooncake) keep(session string, b blocksBefore) {
	if session == "" {
		return
	}
	if l.f.blocks == nil {
		l.f.blocks = map[string]blocksBefore{}
	}
	l.f.blocks[session] = b
}

// A blocksBefore is what is known of the hash ids of a session.
type blocksBefore struct {
	given         bool  // the first row has some
	first, before int64 // first id of the first row, and of the row before; 0 for none
	// partial says that the first row has only one block, which is not full, so that it gets another id when it grows.
	partial bool
}

// hashIDs returns the "hash_ids" of a row, nil if there are none.
func (r *row) hashIDs() (ids []int64, err error) {
	js := r.get("hash_ids")
	if js == nil {
		return nil, nil
	}
	ids, ok := parseIDs(js)
	if !ok {
		return nil, fmt.Errorf("\"hash_ids\": expected an array of whole numbers, found %s", clip(js))
	}
	return ids, nil
}

// parseIDs parses a compact array of whole numbers; nil for an empty one. Numbers from 2⁶³ on become negative.
func parseIDs(js []byte) (ids []int64, ok bool) {
	if len(js) < 2 || js[0] != '[' || js[len(js)-1] != ']' {
		return nil, false
	}
	if js = js[1 : len(js)-1]; len(js) == 0 {
		return nil, true
	}
	ids = make([]int64, 0, bytes.Count(js, []byte{','})+1)
	for len(js) > 0 && js[0] >= '0' && js[0] <= '9' { // most ids have few digits
		id, n := int64(0), 0
		for ; n < len(js) && n < 18 && js[n] >= '0' && js[n] <= '9'; n++ {
			id = id*10 + int64(js[n]-'0')
		}
		if n == len(js) {
			return append(ids, id), true
		}
		if js[n] != ',' {
			break
		}
		ids, js = append(ids, id), js[n+1:]
	}
	for more := true; more; {
		var text []byte
		text, js, more = bytes.Cut(js, []byte{','})
		id, err := strconv.ParseInt(string(text), 10, 64)
		if err != nil {
			big, err := strconv.ParseUint(string(text), 10, 64)
			if err != nil {
				return nil, false
			}
			id = int64(big) //nolint:gosec // only equality matters
		}
		ids = append(ids, id)
	}
	return ids, true
}

// blockTokens returns the number of tokens in a block.
func (l mooncake) blockTokens(r *row) int {
	switch {
	case l.o.BlockTokens != 0:
		return l.o.BlockTokens
	case r.has("chat_id"):
		return bailianBlock
	}
	return mooncakeBlock
}

// text generates the text of a prompt of these tokens: from the hash ids of its blocks, else from the
// number of the row.
func (l mooncake) text(p *workload.Prompt, i, tokens int, ids []int64, block int) (err error) {
	if tokens == 0 {
		return errors.New(`"input_length": 0: must be at least 1`)
	}
	if l.o.Texts == nil {
		return errNoTexts
	}
	if ids == nil {
		p.Text, p.IDs, err = l.o.Texts.Text(uint64(i), tokens)
		return err
	}
	if err := checkBlocks(tokens, ids, block); err != nil {
		return err
	}
	p.Text, p.IDs, err = l.o.Texts.Blocks(ids, block, tokens)
	return err
}

// checkBlocks returns an error if a prompt of these tokens has not as many blocks as hash ids.
func checkBlocks(tokens int, ids []int64, block int) error {
	if last := tokens - (len(ids)-1)*block; last < 1 || last > block {
		return fmt.Errorf("%d tokens are not the %d blocks of %d that \"hash_ids\" names; is --block-tokens right?", tokens, len(ids), block)
	}
	return nil
}

// errNoTexts is the error for a trace without a tokenizer.
var errNoTexts = errors.New("the trace holds no texts, only their lengths; making texts needs a tokenizer")

// burstGPTRequest returns the entry of a row of BurstGPT's traces, in CSV:
//
//	Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//	Timestamp,Session ID,Elapsed time,Model,Request tokens,…
//
// Times are in seconds. Failed requests have no response tokens and are skipped.
func burstGPTRequest(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	at, err := required(r.number("Timestamp"))
	if err != nil {
		return nil, err
	}
	offset, err := duration(at, time.Second)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", "Timestamp", err)
	}
	es, err := lengthsRequest(f, o, r, i, "Request tokens", "Response tokens", "a request that failed", offset)
	if err != nil || es == nil {
		return nil, err
	}
	es[0].Session, _, err = r.string("Session ID")
	return es, err
}

// azureTimes lists the time formats of 2024 and 2023, with fractions of a second of any
// length.
var azureTimes = []string{"2006-01-02 15:04:05Z07:00", time.DateTime, time.RFC3339, "2006-01-02T15:04:05"}

// azureRequest returns the entry of a row of Azure's LLM inference traces of 2023 and 2024, in CSV:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:17:03.9799600,4808,10
//
// The schedule starts with the first row. Rows without tokens are skipped.
func azureRequest(f *file, o *Options, r *row, i int) ([]workload.Entry, error) {
	text, err := required(r.string("TIMESTAMP"))
	if err != nil {
		return nil, err
	}
	at, err := parseTime(text)
	if err != nil {
		return nil, fmt.Errorf("\"TIMESTAMP\": %w", err)
	}
	if f.start.IsZero() {
		f.start = at
	}
	if at.Before(f.start) {
		return nil, fmt.Errorf("\"TIMESTAMP\": %s is before the first row, %s; sort the trace by time", text, f.start.Format(time.DateTime))
	}
	return lengthsRequest(f, o, r, i, "ContextTokens", "GeneratedTokens", "a request without tokens", at.Sub(f.start))
}

// parseTime parses a time in one of azureTimes. A time without a zone is UTC.
func parseTime(text string) (time.Time, error) {
	for _, form := range azureTimes {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time such as 2023-11-16 18:17:03.979", clip([]byte(text)))
}

// lengthsRequest returns the entry of row i of a trace that holds only lengths, in the members input and output.
// A row without tokens is left out as empty.
func lengthsRequest(f *file, o *Options, r *row, i int, input, output, empty string, at time.Duration) ([]workload.Entry, error) {
	in, err := required(r.count(input))
	if err != nil {
		return nil, err
	}
	out, err := required(r.count(output))
	switch {
	case err != nil:
		return nil, err
	case in == 0 || out == 0:
		f.leaveOut(empty)
		return nil, nil
	case o.Texts == nil:
		return nil, errNoTexts
	}
	text, ids, err := o.Texts.Text(uint64(i), in)
	return []workload.Entry{{Timed: true, Offset: at, Prompt: &workload.Prompt{Text: text, IDs: ids, MaxTokens: out}}}, err
}

// required returns an error for a missing field.
func required[T any](v T, ok bool, err error) (T, error) {
	if err == nil && !ok {
		err = errors.New("a required field is empty")
	}
	return v, err
}
