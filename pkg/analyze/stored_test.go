package analyze_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/golden"
	"github.com/pa-tools/pa/internal/memrun"
	"github.com/pa-tools/pa/internal/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// A Parquet file is analyzed by its columns of token events, and the report equals the
// report of the export that it was made of.
func TestStoredAnswers(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	yes, no := true, false
	configs := []analyze.Config{
		{},
		{From: answer.FromSent, TokenSource: answer.TokenResponses, IncludeWarmup: true},
		{Streaming: &yes, TokenSource: answer.TokenUsage},
		{Streaming: &no, Windows: analyze.Windows{Every: time.Second}},
		{TokenSource: answer.TokenTokenizer}, // needs the texts
		{Series: true},                       // needs the inputs
	}
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(8) > 0 {
			continue
		}
		data := files[name]
		table := parquetOf(t, data)
		for k, cfg := range configs {
			want := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return profilejson.NewReader(ctx, "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
			})
			got := run(t, cfg, func(ctx context.Context) (export.Reader, error) {
				return columnar.Parquet{}.Open(ctx, "x", bytes.NewReader(table), int64(len(table)), export.Limits{})
			})
			if d := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmp.Exporter(func(reflect.Type) bool { return true }), cmp.Comparer(sameError)); d != "" {
				t.Fatalf("%s, configuration %d (-JSON +Parquet):\n%.2000s", name, k, d)
			}
		}
	}
}

func sameError(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

func parquetOf(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), "x", bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := columnar.NewParquetWriter(&out, answer.NewDeriver(r.Run()))
	if err == nil {
		err = export.Copy(t.Context(), w, r)
	}
	if err := errors.Join(err, r.Err(), r.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func run(t *testing.T, cfg analyze.Config, open func(context.Context) (export.Reader, error)) *analyze.Report {
	t.Helper()
	r, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rep, err := analyze.Run(t.Context(), r, cfg)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return rep
}

// The tokens of a request whose stored answer is missing are not known, because its texts are
// left out.
func TestStoredAnswerMissing(t *testing.T) {
	r := &withoutStored{Reader: memrun.Reader{
		Header: export.Run{Experiments: make([]export.Experiment, 1)},
		Requests: [][]export.Request{{{
			StartNS: 1000, Responses: []export.Response{{RecvNS: 1010}, {RecvNS: 1030}},
		}}},
	}}
	rep, err := analyze.Run(t.Context(), r, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	e := &rep.Experiments[0]
	if e.OK != 1 || e.TokenEvents != 0 || e.Metric(answer.TTFT) != nil || e.Metric(answer.E2EL) == nil {
		t.Errorf("%d ok, %d token events, TTFT %v, E2EL %v", e.OK, e.TokenEvents, e.Metric(answer.TTFT), e.Metric(answer.E2EL))
	}
}

// withoutStored claims to have stored answers.
type withoutStored struct{ memrun.Reader }

func (*withoutStored) Derivation() (export.Derivation, bool) {
	return export.Derivation{Definitions: answer.Definitions, TokenSource: "auto"}, true
}
func (*withoutStored) Derived() *export.Derived { return nil }
func (*withoutStored) WithoutAnswers()          {}
