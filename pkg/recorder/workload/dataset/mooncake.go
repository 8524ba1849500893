package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mooncake is the layout of Mooncake's traces. They have lengths of prompts, and hash ids
// that identify equal blocks:
//
//	{"timestamp": MS, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, …]}
//
// Traces of Bailian have times in seconds, "chat_id" and blocks of 16 tokens. Only
// "input_length" is required. A row with a prompt is read like a row of the layout prompts, because
// its own text is not to be replaced by a made-up one of the same length.
type mooncake struct {
	f     *file
	o     *Options
	block int // tokens in a block; 0 for the default of the trace
}

func fitsMooncake(r *row, _ *file) bool {
	return r.has("input_length") && !hasPrompt(r)
}

// The numbers of tokens in a block.
const (
	mooncakeBlock = 512
	bailianBlock  = 16
)

func newMooncake(f *file, o *Options) layout {
	f.facts.Trace = true
	return &mooncake{f: f, o: o, block: o.BlockTokens}
}

func (l *mooncake) entries(r *row, i int) ([]workload.Entry, error) {
	if hasPrompt(r) { // rows with and without texts may alternate
		e, err := readPrompt(r, l.f, l.o)
		return []workload.Entry{e}, err
	}
	tokens, ok, err := r.count("input_length")
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errors.New(`no "input_length": it has ` + columnNames(r))
	}
	e, err := readPromptMembers(r, l.f, "input_length", "hash_ids", "type", "chat_id", "parent_chat_id", "turn")
	if err != nil {
		return nil, err
	}
	if r.has("chat_id") {
		e.Offset *= 1000 // Bailian's times are in seconds
	}
	ids, err := r.hashIDs()
	if err != nil {
		return nil, err
	}
	if err := l.text(e.Prompt, i, tokens, ids, l.blockTokens(r)); err != nil {
		return nil, err
	}
	if l.f.opening {
		l.compare(e.Session, i, ids, tokens%l.blockTokens(r) != 0)
	}
	e.Whole = l.whole(i)
	return []workload.Entry{e}, nil
}

// whole reports whether row i, a later turn of a conversation, is the whole prompt, with the
// history.
func (l *mooncake) whole(i int) bool {
	switch l.o.TraceRows {
	case RowsWhole:
		return true
	case RowsNew:
		return false
	}
	return i/64 < len(l.f.whole) && l.f.whole[i/64]>>(i%64)&1 == 1
}

// compare compares the hash ids of row i with the row before in its session. partial says that the
// last block is not full.
func (l *mooncake) compare(session string, i int, ids []int64, partial bool) {
	f := l.f
	if ids != nil {
		f.facts.Blocks++
	}
	if session == "" {
		return
	}
	before, later := f.blocks[session]
	if f.blocks == nil {
		f.blocks = map[string][]int64{}
	}
	switch {
	case !later:
	case ids == nil:
		f.facts.TraceUnknown++
	case extends(ids, before):
		f.facts.TraceWhole++
		for len(f.whole) <= i/64 {
			f.whole = append(f.whole, 0)
		}
		f.whole[i/64] |= 1 << (i % 64)
	default:
		f.facts.TraceNew++
	}
	if n := len(ids); n > 1 && partial {
		ids = ids[:n-1] // the last block gets another id when it grows
	}
	f.blocks[session] = ids
}

// extends reports whether the hash ids of a turn begin with the full blocks of the turn before.
func extends(ids, before []int64) bool {
	return len(before) > 0 && len(ids) >= len(before) && slices.Equal(ids[:len(before)], before)
}

// hashIDs returns the "hash_ids" of a row, nil if there are none.
func (r *row) hashIDs() (ids []int64, err error) {
	js := r.get("hash_ids")
	switch {
	case js == nil:
		return nil, nil
	case json.Unmarshal(js, &ids) != nil:
		return nil, fmt.Errorf("\"hash_ids\": expected an array of whole numbers, found %s", clip(js))
	case len(ids) == 0:
		return nil, nil
	}
	return ids, nil
}

// blockTokens returns the number of tokens in a block.
func (l *mooncake) blockTokens(r *row) int {
	switch {
	case l.block != 0:
		return l.block
	case r.has("chat_id"):
		return bailianBlock
	}
	return mooncakeBlock
}

// text generates the text of a prompt of these tokens: from the hash ids of its blocks, else from the
// number of the row.
func (l *mooncake) text(p *workload.Prompt, i, tokens int, ids []int64, block int) (err error) {
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
	if last := tokens - (len(ids)-1)*block; last < 1 || last > block {
		return fmt.Errorf("%d tokens are not the %d blocks of %d that \"hash_ids\" names; is --block-tokens right?", tokens, len(ids), block)
	}
	p.Text, p.IDs, err = l.o.Texts.Blocks(ids, block, tokens)
	return err
}

// errNoTexts is the error for a trace without a tokenizer.
var errNoTexts = errors.New("the trace holds no texts, only their lengths; making texts needs a tokenizer")
