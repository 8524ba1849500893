package dataset

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mooncake is the layout of Mooncake's traces. They have lengths of prompts, and hash ids
// that identify equal blocks:
//
//	{"timestamp": MS, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, …]}
//
// Traces of Bailian have times in seconds, "chat_id" and blocks of 16 tokens. Only
// "input_length" is required. After the first row, rows may instead have "text_input",
// "messages" or "payload"; they are read like rows of the layout prompts.
type mooncake struct {
	f     *file
	o     *Options
	block int // tokens in a block; 0 for the default of the trace
}

func fitsMooncake(r *row, _ *file) bool {
	return r.has("input_length") && !r.has("text_input") && !r.has("messages") && !r.has("payload")
}

// The numbers of tokens in a block.
const (
	mooncakeBlock = 512
	bailianBlock  = 16
)

func newMooncake(f *file, o *Options) layout { return &mooncake{f: f, o: o, block: o.BlockTokens} }

func (l *mooncake) entries(r *row, i int) ([]workload.Entry, error) {
	tokens, ok, err := r.count("input_length")
	switch {
	case err != nil:
		return nil, err
	case !ok && (r.get("text_input") != nil || r.get("messages") != nil || r.get("payload") != nil):
		// Rows with and without texts may alternate.
		e, err := readPrompt(r, l.f, l.o)
		return []workload.Entry{e}, err
	case !ok:
		return nil, errors.New(`no "input_length": it has ` + columnNames(r))
	}
	e, err := readPromptMembers(r, l.f, l.o, "input_length", "hash_ids", "type", "chat_id", "parent_chat_id", "turn")
	if err != nil {
		return nil, err
	}
	if r.has("chat_id") {
		e.Offset *= 1000 // Bailian's times are in seconds
	}
	if err := l.text(e.Prompt, r, i, tokens); err != nil {
		return nil, err
	}
	return []workload.Entry{e}, nil
}

// text generates the text of the prompt.
func (l *mooncake) text(p *workload.Prompt, r *row, i, tokens int) (err error) {
	if tokens == 0 {
		return errors.New(`"input_length": 0: must be at least 1`)
	}
	if l.o.Texts == nil {
		return errNoTexts
	}
	js := r.get("hash_ids")
	if js == nil || string(js) == "[]" {
		p.Text, p.IDs, err = l.o.Texts.Text(uint64(i), tokens)
		return err
	}
	var ids []int64
	if json.Unmarshal(js, &ids) != nil {
		return fmt.Errorf("\"hash_ids\": expected an array of whole numbers, found %s", clip(js))
	}
	block := l.block
	if block == 0 {
		if block = mooncakeBlock; r.has("chat_id") {
			block = bailianBlock
		}
	}
	if last := tokens - (len(ids)-1)*block; last < 1 || last > block {
		return fmt.Errorf("%d tokens are not the %d blocks of %d that \"hash_ids\" names; is --block-tokens right?", tokens, len(ids), block)
	}
	p.Text, p.IDs, err = l.o.Texts.Blocks(ids, block, tokens)
	return err
}

// errNoTexts is the error for a trace without a tokenizer.
var errNoTexts = errors.New("the trace holds no texts, only their lengths; making texts needs a tokenizer")
