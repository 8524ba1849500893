package runtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Open reads a profile_export.json.
func Open(tb testing.TB, data []byte) export.Reader {
	tb.Helper()
	r, err := profilejson.Format{}.Open(tb.Context(), "profile_export.json", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Import reads a result file of one of these formats.
func Import(tb testing.TB, data []byte, formats ...export.Format) export.Reader {
	tb.Helper()
	r, err := open(tb, data, export.Limits{}, formats)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// open opens data as the first of the formats that takes it.
func open(tb testing.TB, data []byte, limits export.Limits, formats []export.Format) (export.Reader, error) {
	tb.Helper()
	for _, f := range formats {
		if f.Sniff(data[:min(len(data), 4<<10)]) {
			return f.Open(tb.Context(), "result.json", bytes.NewReader(data), int64(len(data)), limits)
		}
	}
	return nil, errors.New("no format takes the result")
}

// SameRequests fails the test unless two readers give the same requests to their ends. It returns the number of
// requests.
func SameRequests(tb testing.TB, got, want export.Reader) (n int) {
	tb.Helper()
	for want.Next() && got.Next() {
		n++
		x, err := json.Marshal(want.Request())
		if err != nil {
			tb.Fatal(err)
		}
		y, err := json.Marshal(got.Request())
		if err != nil || !bytes.Equal(x, y) {
			tb.Errorf("request %d is\n%s, want\n%s", n, y, x)
		}
	}
	if want.Next() || got.Next() || want.Err() != nil || got.Err() != nil {
		tb.Errorf("after %d requests: %v, %v", n, got.Err(), want.Err())
	}
	return n
}

// Analyze is dialect.Analyze for a tool whose reports have the type R.
func Analyze[R dialect.Report](ctx context.Context, t *dialect.Tool, r export.Reader, cfg dialect.Config) (R, error) {
	rep, err := dialect.Analyze(ctx, t, r, cfg)
	typed, _ := rep.(R)
	return typed, err
}

// Tokenizers holds the tokenizers under testdata/tokenizers, each loaded when it is asked
// for first. The key is the reading and the name.
type Tokenizers map[string]*tokenizer.Tokenizer

// Named returns the tokenizer of that name as the tool of a dialect reads its files.
func (all Tokenizers) Named(tb testing.TB, tool, name string) *tokenizer.Tokenizer {
	tb.Helper()
	reading := tokenizer.Transformers4
	if tool == "vllm" || tool == "sglang" || tool == "inference-perf" {
		reading = tokenizer.Transformers5
	}
	key := reading.String() + " " + name
	if all[key] == nil {
		tok, err := tokenizer.LoadAs(filepath.Join(golden.Root(tb), "testdata", "tokenizers", name, "tokenizer.json"), reading)
		if err != nil {
			tb.Fatal(err)
		}
		all[key] = tok
	}
	return all[key]
}

// Shown returns a request of a result file for a table of a test: id, start, status, the times of the responses in ns
// since the start (s marks a silent response, f a final one), and the stated numbers and texts.
func Shown(r *export.Request) string {
	s := fmt.Sprintf("%d@%d %v", r.ID, r.StartNS, r.Status)
	if r.Code != 0 {
		s += fmt.Sprintf(" %d", r.Code)
	}
	for i, p := range r.Responses {
		s += fmt.Sprintf(" %d", p.RecvNS-r.StartNS)
		if r.Stated != nil {
			for _, k := range r.Stated.Silent {
				if k == i {
					s += "s"
				}
			}
		}
		if p.Final {
			s += "f"
		}
	}
	if st := r.Stated; st != nil {
		for _, n := range []struct {
			name string
			v    *int64
		}{{"in", st.InputTokens}, {"out", st.OutputTokens}, {"reasoning", st.ReasoningTokens}, {"cached", st.CachedTokens}, {"events", st.TokenEvents}} {
			if n.v != nil {
				s += fmt.Sprintf(" %s=%d", n.name, *n.v)
			}
		}
		if st.Streamed != nil {
			s += fmt.Sprintf(" streamed=%v", *st.Streamed)
		}
		if st.Text != nil {
			s += fmt.Sprintf(" %q", *st.Text)
		}
	}
	return s
}
