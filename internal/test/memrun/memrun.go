package memrun

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// A Reader reads a run from memory. Its fields may be changed before the first Next.
type Reader struct {
	Header    export.Run
	Requests  [][]export.Request // by experiment
	Telemetry []export.Scrape
	Failure   error            // what Err returns
	Notes     []export.Warning // what Warnings returns
	Unread    []int            // by experiment: counted requests that Skipped returns

	exp, i int
}

// Scrapes implements export.Reader.
func (r *Reader) Scrapes(_ context.Context, do func(*export.Scrape) error) error {
	for i := range r.Telemetry {
		if err := do(&r.Telemetry[i]); err != nil {
			return err
		}
	}
	return nil
}

// Run implements export.Reader.
func (r *Reader) Run() *export.Run { return &r.Header }

// Next implements export.Reader.
func (r *Reader) Next() bool {
	r.i++
	for r.exp < len(r.Requests) && r.i > len(r.Requests[r.exp]) {
		r.exp, r.i = r.exp+1, 1
	}
	return r.exp < len(r.Requests)
}

// Request implements export.Reader.
func (r *Reader) Request() *export.Request { return &r.Requests[r.exp][r.i-1] }

// Experiment implements export.Reader.
func (r *Reader) Experiment() int { return r.exp }

// Err implements export.Reader.
func (r *Reader) Err() error { return r.Failure }

// Warnings implements export.Reader.
func (r *Reader) Warnings() []export.Warning { return r.Notes }

// Close implements export.Reader.
func (r *Reader) Close() error { return nil }

// Skipped implements export.Reader.
func (r *Reader) Skipped(i int) (counted, excluded int) {
	if i < len(r.Unread) {
		return r.Unread[i], 0
	}
	return 0, 0
}

// New returns a reader of experiments of concurrency 1, 2, … with these requests. kind
// is the service kind; "" for none.
func New(kind string, requests ...[]export.Request) *Reader {
	r := &Reader{Requests: requests}
	if kind != "" {
		r.Header.ServiceKind = &kind
	}
	for i := range requests {
		r.Header.Experiments = append(r.Header.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: strconv.Itoa(i + 1)})
	}
	return r
}

// At returns a request that started at start and has responses without outputs
// at the given times.
func At(start uint64, recv ...uint64) export.Request {
	r := export.Request{StartNS: start, NoOutputs: true}
	for _, t := range recv {
		r.Responses = append(r.Responses, export.Response{RecvNS: t})
	}
	return r
}

// OpenAI returns a request whose responses hold these pieces of the body, at
// 10, 20, … ns after a start at 1000.
func OpenAI(pieces ...string) export.Request {
	r := export.Request{StartNS: 1000}
	for i, p := range pieces {
		r.Responses = append(r.Responses, export.Response{
			RecvNS:  1000 + uint64(i+1)*10,
			Outputs: export.Fields{{Name: "response", Value: export.Text(p)}},
		})
	}
	return r
}

// Tensors returns a request whose responses hold these outputs, at 10, 20, …
// ns after a start at 1000.
func Tensors(responses ...export.Fields) export.Request {
	r := export.Request{StartNS: 1000}
	for i, f := range responses {
		r.Responses = append(r.Responses, export.Response{RecvNS: 1000 + uint64(i+1)*10, Outputs: f})
	}
	return r
}

// Text returns outputs with one text_output.
func Text(s string) export.Fields {
	return export.Fields{{Name: "text_output", Value: export.Text(s)}}
}

// With adds an output of JSON text.
func With(f export.Fields, name, value string) export.Fields {
	return append(f, export.Field{Name: name, Value: export.JSON(value)})
}

// Delta returns a server-sent event with this content, as an OpenAI chat streams it.
func Delta(content string) string {
	return fmt.Sprintf("data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", content)
}

// Other events of a chat. Usage5 states 9 input, 5 output, 2 reasoning and 8 cached
// tokens; Thought holds reasoning text.
const (
	Role    = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	Finish  = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
	Done    = "data: [DONE]\n\n"
	Usage5  = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":5,\"completion_tokens_details\":{\"reasoning_tokens\":2},\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n"
	Thought = "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"
)

// Words counts words as tokens. It refuses a text with an exclamation mark.
type Words struct{}

// CountTokens implements answer.TokenCounter.
func (Words) CountTokens(text []byte) (int, error) {
	n := 0
	for _, c := range text {
		switch c {
		case ' ':
			n++
		case '!':
			return 0, errors.New("no such word")
		}
	}
	return n + 1, nil
}
