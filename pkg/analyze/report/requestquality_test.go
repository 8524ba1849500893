package report

import (
	"errors"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
)

// Requests without quality have empty cells, and the message stays the last column of the table.
func TestQualityColumns(t *testing.T) {
	m := &answer.Measured{Streamed: answer.StreamedYes, Measures: answer.Measures{
		TTFT: value(1_500_000_000), E2EL: value(2_000_000_000), Gaps: []int64{100_000_000, 300_000_000}, Events: 3, Spread: value(400_000_000),
		OutputTokens: value(6), TokenSource: answer.TokenUsage,
	}}
	q := quality.NewMeter(quality.Default()).Measure(m)
	timed, failed := rows()[0], rows()[1]
	timed.Quality = &q
	var table, csv strings.Builder
	for _, w := range []RowWriter{RowsTable(&table, 0, Groups{Quality: true}), RowsCSV(&csv, Groups{Quality: true})} {
		if err := errors.Join(w.Write(&timed), w.Write(&failed), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	// The first token is 500 ms late: 11 misses. The gap of 100 ms is 50 ms late: 2 misses. The gap of
	// 300 ms is 250 ms late: 6 misses. A reader of 50 ms a token waits 1,900 − 150 ms.
	const wantTable = `level            id            start_ns  ttft_ms   e2el_ms tokens status fluidity  idle_ms stalls stall_ms message
concurrency 1     0 1700000000000000000   12.346  1234.568      7 ok        0.000 1750.000      0        - -
`
	if got := table.String(); !strings.HasPrefix(got, wantTable) {
		t.Errorf("table:\n%s", got)
	}
	lines := strings.Split(csv.String(), "\n")
	if want := "model,fluidity,deadlines,deadlines_missed,fluid_interval_ns,fluid_token_rate_per_s,tokens_in_time,reader_idle_ns,smooth_tokens,stalls,longest_stall_ns,stall_total_ns,stall_share,tokens_per_event,itl_per_token_estimated_ns,normalized_latency_ns"; !strings.HasSuffix(lines[0], want) {
		t.Errorf("head %s", lines[0])
	}
	if want := ",0,19,19,,,0,1750000000,-32,0,,0,0,2,80000000,333333333.3333333"; !strings.HasSuffix(lines[1], want) {
		t.Errorf("line %s, want %s", lines[1], want)
	}
	if want := strings.Repeat(",", len(qualityColumns)); !strings.HasSuffix(lines[2], want) {
		t.Errorf("line %s", lines[2])
	}
	for _, key := range SortKeys(Groups{Quality: true}) {
		order, ok := RowOrder(key, false, Groups{Quality: true})
		if !ok {
			t.Fatalf("RowOrder does not know %s", key)
		}
		if i := order(&timed, &failed); key == "reader_idle_ns" && i >= 0 {
			t.Errorf("%s: order %d, want the missing value last", key, i)
		}
	}
	if _, ok := RowOrder("fluidity", false, Groups{}); ok {
		t.Error("a list without quality is sorted by it")
	}
}
