package dialect_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// words is a dialect: a tool that prints the mean latency of each load level and the
// words per second, which it counts with the tokenizer.
func words() *dialect.Tool {
	return &dialect.Tool{
		Name: "words-1.0", Family: "words", Listed: "words-1.0", Options: []string{"tokenizer"},
		New: func(in dialect.Input) (dialect.Analysis, error) {
			if in.Tokenizer == nil {
				return nil, dialect.ErrNoTokenizer
			}
			return &wordReport{in: in}, nil
		},
	}
}

// wordReport is the analysis and its report.
type wordReport struct {
	in       dialect.Input
	level    int
	requests int
	ns       uint64 // sum of latencies
	words    int
	lines    []string
}

func (w *wordReport) Begin(level int) { w.level, w.requests, w.ns, w.words = level, 0, 0, 0 }

func (w *wordReport) Request(q *export.Request) error {
	end, ok := q.FinalResponseNS()
	if !ok || q.Excluded() != export.NotExcluded {
		return nil
	}
	w.requests++
	w.ns += end - q.StartNS
	for i := range q.Responses {
		v, _ := q.Responses[i].Outputs.Get("response")
		w.words += w.in.Tokenizer.Count(string(v.Data))
	}
	return nil
}

func (w *wordReport) End() {
	e := &w.in.Run.Experiments[w.level]
	w.lines = append(w.lines, fmt.Sprintf("%s %s: latency %.1f ms, %d words", e.Mode, e.Value, float64(w.ns)/float64(w.requests)/1e6, w.words))
}

func (w *wordReport) Report() dialect.Report { return w }

func (w *wordReport) Console(out io.Writer, _ int) error {
	_, err := fmt.Fprintln(out, strings.Join(w.lines, "\n"))
	return err
}
func (*wordReport) CSV(io.Writer) error  { return dialect.ErrNoFormat }
func (*wordReport) JSON(io.Writer) error { return dialect.ErrNoFormat }
func (*wordReport) Warnings() []error    { return nil }

// A counter takes four bytes for a token.
type counter struct{}

func (counter) Count(text string) int            { return len(text) / 4 }
func (counter) AddSpecial(ids []uint32) []uint32 { return ids }

func ExampleTool() {
	const run = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1000000,"response_timestamps":[2000000,4000000],"response_outputs":[{"response":"good"},{"response":"day"}]}],"window_boundaries":[]}],"version":"2.60.0"}`
	r, _ := profilejson.Format{}.Open(context.Background(), "run.json", strings.NewReader(run), int64(len(run)), export.Limits{})
	rep, err := dialect.Analyze(context.Background(), words(), r, dialect.Config{Tokenizer: counter{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = rep.Console(os.Stdout, 80)
	// Output: concurrency 1: latency 3.0 ms, 1 words
}
