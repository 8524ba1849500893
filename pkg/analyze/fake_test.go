package analyze

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
)

// A fakeReader reads requests from memory.
type fakeReader struct {
	run      export.Run
	requests [][]export.Request // by experiment
	err      error
	warnings []export.Warning
	skipped  []int // by experiment

	exp, i int

	scrapes []export.Scrape
}

func (f *fakeReader) Scrapes(_ context.Context, do func(*export.Scrape) error) error {
	for i := range f.scrapes {
		if err := do(&f.scrapes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeReader) Run() *export.Run { return &f.run }

func (f *fakeReader) Next() bool {
	f.i++
	for f.exp < len(f.requests) && f.i > len(f.requests[f.exp]) {
		f.exp, f.i = f.exp+1, 1
	}
	return f.exp < len(f.requests)
}

func (f *fakeReader) Request() *export.Request   { return &f.requests[f.exp][f.i-1] }
func (f *fakeReader) Experiment() int            { return f.exp }
func (f *fakeReader) Err() error                 { return f.err }
func (f *fakeReader) Warnings() []export.Warning { return f.warnings }
func (f *fakeReader) Close() error               { return nil }

func (f *fakeReader) Skipped(i int) (counted, excluded int) {
	if i < len(f.skipped) {
		return f.skipped[i], 0
	}
	return 0, 0
}

// reader returns a reader of experiments of concurrency 1, 2, … with these
// requests.
func reader(kind string, requests ...[]export.Request) *fakeReader {
	f := &fakeReader{requests: requests}
	if kind != "" {
		f.run.ServiceKind = &kind
	}
	for i := range requests {
		f.run.Experiments = append(f.run.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: string(rune('1' + i))})
	}
	return f
}

// streamed is a Config.Streaming for requests of one response.
var streamed = true

// at returns a request that started at start and has responses without outputs
// at the given times.
func at(start uint64, recv ...uint64) export.Request {
	r := export.Request{StartNS: start, NoOutputs: true}
	for _, t := range recv {
		r.Responses = append(r.Responses, export.Response{RecvNS: t})
	}
	return r
}

// openaiRequest returns a request whose responses hold these pieces of the body, at
// 10, 20, … ns after a start at 1000.
func openaiRequest(pieces ...string) export.Request {
	r := export.Request{StartNS: 1000}
	for i, p := range pieces {
		r.Responses = append(r.Responses, export.Response{
			RecvNS:  1000 + uint64(i+1)*10,
			Outputs: export.Fields{{Name: "response", Value: export.Text(p)}},
		})
	}
	return r
}

// tensors returns a request whose responses hold these outputs, at 10, 20, …
// ns after a start at 1000.
func tensors(responses ...export.Fields) export.Request {
	r := export.Request{StartNS: 1000}
	for i, f := range responses {
		r.Responses = append(r.Responses, export.Response{RecvNS: 1000 + uint64(i+1)*10, Outputs: f})
	}
	return r
}

// text returns outputs with one text_output.
func text(s string) export.Fields {
	return export.Fields{{Name: "text_output", Value: export.Text(s)}}
}

// with adds an output of JSON text.
func with(f export.Fields, name, value string) export.Fields {
	return append(f, export.Field{Name: name, Value: export.JSON(value)})
}
