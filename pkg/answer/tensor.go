package answer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// A tensorDecoder finds token events among responses that are named tensors:
// Triton over gRPC or HTTP, and the flat JSON objects of generate_stream.
//
// A response is a token event if one of its outputs that count is not empty. The outputs
// that count are the same for the whole request: the first of these kinds that occurs.
//
//  1. text: a non-empty string in an output that is not a side output
//  2. any output that is not a side output: token ids, sums
//  3. any output
//
// Side outputs are counts, flags, clocks and log probabilities that a backend sends
// beside the text: vLLM's finish_reason is the text "None" in every response, and
// TensorRT-LLM's sequence_index is a number. They are recognized by name, because
// exports before 24.08 hold numbers as raw bytes in a string.
type tensorDecoder struct {
	pieces []piece
	text   []byte // of all pieces; piece.text are parts of it
}

type piece struct {
	at     int // index of the response
	fields export.Fields
	index  int // of the choice
	failed bool

	from, to int  // text[from:to]
	main     bool // an output that is not a side output is not empty
	side     bool // a side output is not empty
	zero     bool // nothing but zeros
}

func (t *tensorDecoder) reset() {
	clear(t.pieces) // lets go of the request's bytes
	t.pieces, t.text = t.pieces[:0], t.text[:0]
}

// add adds the response with index at.
func (t *tensorDecoder) add(at int, f export.Fields, failed bool) {
	p := piece{at: at, fields: f, failed: failed, from: len(t.text), zero: true}
	if v, ok := f.Get("sequence_index"); ok {
		if n, ok := sumNumbers(v); ok && n >= 0 && n < 1<<20 {
			p.index = int(n)
		}
	}
	for i := range f {
		v := f[i].Value
		side := isSideOutput(f[i].Name)
		switch {
		case v.Text:
			before := len(t.text)
			t.text = withoutPrefixes(t.text, v.Data)
			if len(t.text) == before {
				continue
			}
			if side {
				t.text = t.text[:before]
			}
			p.zero = false
		case v.Empty():
			continue
		case !isZero(v.Data):
			p.zero = false
		}
		if side {
			p.side = true
		} else {
			p.main = true
		}
	}
	p.to = len(t.text)
	t.pieces = append(t.pieces, p)
}

// decode adds the token events of the responses to d.
func (t *tensorDecoder) decode(d *Decoder) {
	hasMain := false // an output that is no side output exists, if only empty
	for i := range t.pieces {
		p := &t.pieces[i]
		for j := range p.fields {
			hasMain = hasMain || !isSideOutput(p.fields[j].Name)
		}
		t.usage(d, p.fields)
		if msg, ok := failureOf(p); ok && d.a.Failure == "" {
			d.a.Failure = msg
		}
	}
	hasText := len(t.text) > 0
	cumulative := hasText && t.cumulative()
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.failed {
			continue
		}
		text := t.text[p.from:p.to]
		var is bool
		switch {
		case hasText:
			if is = len(text) > 0; is && cumulative {
				text = t.added(i)
				is = len(text) > 0
			}
		case hasMain:
			is = p.main && !t.emptyFinal(i)
		default:
			is = p.side && !t.emptyFinal(i)
		}
		if is {
			d.add(p.at, p.index, false, text)
		}
	}
}

// emptyFinal reports whether piece i is the empty response at the end of a stream.
// Release 24.08 writes an absent number as 0 there.
func (t *tensorDecoder) emptyFinal(i int) bool {
	return i > 0 && i == len(t.pieces)-1 && t.pieces[i].zero
}

// cumulative reports whether each text repeats the previous text of the same
// choice and adds to it, as tensorrt_llm_bls with accumulate_tokens does: in
// three or more texts each begins with the previous text, and at least one is
// longer. Equal texts alone are equal tokens. With two texts it does not
// matter: both are events.
func (t *tensorDecoder) cumulative() bool {
	longer, texts := false, 0
	for i := range t.pieces {
		p := &t.pieces[i]
		if p.failed || p.from == p.to {
			continue
		}
		texts++
		before := t.before(i)
		text := t.text[p.from:p.to]
		if !bytes.HasPrefix(text, before) {
			return false
		}
		longer = longer || len(before) > 0 && len(text) > len(before)
	}
	return longer && texts >= 3
}

// before returns the text of the last piece before i that has text in the same choice;
// nil if there is none.
func (t *tensorDecoder) before(i int) []byte {
	for j := i - 1; j >= 0; j-- {
		q := &t.pieces[j]
		if !q.failed && q.index == t.pieces[i].index && q.from < q.to {
			return t.text[q.from:q.to]
		}
	}
	return nil
}

// added returns the part of the cumulative text of piece i that is new.
func (t *tensorDecoder) added(i int) []byte {
	p := &t.pieces[i]
	return t.text[p.from+len(t.before(i)) : p.to]
}

// usage reads the counts that backends send beside the text: the tokens of
// this response, and the tokens of the prompt. A count that cannot be true is kept.
func (t *tensorDecoder) usage(d *Decoder, f export.Fields) {
	u := &d.a.Usage
	for i := range f {
		switch f[i].Name {
		case "num_output_tokens":
			if n, ok := sumNumbers(f[i].Value); ok {
				u.Output = export.IntOf(stat.SaturatingAdd(u.Output.V, n))
			}
		case "num_input_tokens":
			if n, ok := sumNumbers(f[i].Value); ok && n != 0 {
				u.Input = export.IntOf(n)
			}
		}
	}
}

// failureOf returns the error text of a failed response; ok is false for any other.
func failureOf(p *piece) (text string, ok bool) {
	if p.failed {
		if v, ok := p.fields.Get("error"); ok {
			return string(v.Data), true
		}
		return "the server sent an error", true
	}
	return "", false
}

// sideOutputs are outputs that the LLM backends of Triton send beside the
// text, and the members that generate_stream adds.
var sideOutputs = map[string]bool{
	"num_input_tokens": true, "num_output_tokens": true,
	"finish_reason": true, "stop_reason": true,
	"logprobs": true, "cumulative_logprob": true, "output_log_probs": true, "cum_log_probs": true,
	"context_logits": true, "generation_logits": true, "sequence_length": true,
	"sequence_index": true, "batch_index": true, "acceptance_rate": true,
	"arrival_time_ns": true, "first_scheduled_time_ns": true, "first_token_time_ns": true, "last_token_time_ns": true,
	"model_name": true, "model_version": true, "id": true,
	"sequence_id": true, "sequence_start": true, "sequence_end": true, "triton_final_response": true,
}

func isSideOutput(name string) bool {
	return sideOutputs[name] ||
		strings.HasPrefix(name, "kv_cache_") ||
		strings.HasPrefix(name, "total_") && strings.HasSuffix(name, "draft_tokens")
}

// withoutPrefixes appends the strings of a BYTES tensor to b. Exports of
// 24.03, 24.11 and 24.12 hold each behind its length, see
// [export.StripLengthPrefix]; anything else is appended as it is. Nothing is
// appended when all strings are empty.
func withoutPrefixes(b, data []byte) []byte {
	if _, ok := export.StripLengthPrefix(data); !ok {
		return append(b, data...)
	}
	for len(data) > 0 {
		n := int(binary.LittleEndian.Uint32(data))
		b = append(b, data[4:4+n]...)
		data = data[4+n:]
	}
	return b
}

// isZero reports whether compact JSON text is 0, 0.0, false or an array of
// such.
func isZero(data []byte) bool {
	s := strings.Trim(string(data), "[]")
	for _, n := range strings.Split(s, ",") {
		if n == "false" {
			continue
		}
		if f, err := strconv.ParseFloat(n, 64); err != nil || f != 0 {
			return false
		}
	}
	return true
}

// sumNumbers returns a whole number or the sum of an array of whole numbers, or the nearest int64.
func sumNumbers(v export.Value) (sum int64, ok bool) {
	if v.Text || v.Empty() {
		return 0, false
	}
	for _, n := range strings.Split(strings.Trim(string(v.Data), "[]"), ",") {
		k, err := strconv.ParseInt(n, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, false
		}
		sum = stat.SaturatingAdd(sum, k)
	}
	return sum, true
}
