package runtest

import (
	"bytes"
	"context"
	"errors"
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
