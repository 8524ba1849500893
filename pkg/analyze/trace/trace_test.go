package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/export"
)

// A readEvent is an event, with numbers as they stand in the file.
type readEvent struct {
	Name, Cat, Ph, S string
	TS, Dur          json.Number
	PID, TID         int
	Args             map[string]any
}

// String returns the event in short form: "X decode 1.000+2.500 1/2".
func (e *readEvent) String() string {
	s := fmt.Sprintf("%s %s %s", e.Ph, e.Name, e.TS)
	if e.Dur != "" {
		s += "+" + e.Dur.String()
	}
	s += fmt.Sprintf(" %d/%d", e.PID, e.TID)
	if e.Ph == phaseCounter || e.Ph == phaseMetadata {
		for _, v := range e.Args {
			s += fmt.Sprintf(" = %v", v)
		}
	}
	return s
}

// written returns the events of a trace, and what it says about the run.
func written(t *testing.T, r export.Reader) (events []readEvent, about map[string]string) {
	t.Helper()
	var b bytes.Buffer
	if _, err := Write(t.Context(), &b, r, Config{Stalls: quality.Stalls{ThresholdNS: 200e6, Factor: 5}}); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []readEvent
		OtherData   map[string]string
	}
	if err := json.Unmarshal(b.Bytes(), &file); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return file.TraceEvents, file.OtherData
}

// check compares events of the wanted phases with their short forms.
func check(t *testing.T, events []readEvent, phases string, want ...string) {
	t.Helper()
	var got []string
	for i := range events {
		if strings.Contains(phases, events[i].Ph) {
			got = append(got, events[i].String())
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// The parts of the TTFT that the server states end at the first token; more time than passed is not drawn.
func TestServerSlices(t *testing.T) {
	request := func(promptMS string) export.Request {
		q := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"prompt_ms":`+promptMS+`,"predicted_ms":0.1}}`+"\n\n", memrun.Done)
		q.StartNS = 1_000_000
		for i := range q.Responses {
			q.Responses[i].RecvNS = 1_400_000 + uint64(i)*100_000
		}
		return q
	}
	for promptMS, server := range map[string][]string{"0.15": {"X prefill, by the server 250.000+150.000 1/1"}, "0.5": nil} {
		events, _ := written(t, memrun.New("openai", []export.Request{request(promptMS)}))
		want := append([]string{"X request 0 0.000+700.000 1/1", "X TTFT 0.000+400.000 1/1"}, server...)
		check(t, events, "X", append(want, "X decode 400.000+100.000 1/1", "X end 500.000+200.000 1/1")...)
	}
}

// One request of an open loop, by hand: due at 1,000 µs, handed over at 1,010, connected in 40,
// sent at 1,100; tokens at 1,400 to 1,700 and, after a stall of a second, 1,001,700; its last response
// at 1,001,800. Another one fails at 2,000.
func TestSlices(t *testing.T) {
	first := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"), memrun.Delta("d"), memrun.Delta("e"), memrun.Done)
	for i, us := range []uint64{1400, 1500, 1600, 1700, 1_001_700, 1_001_800} {
		first.Responses[i].RecvNS = us * 1000
	}
	first.HasMeta, first.ID, first.Status = true, 7, export.StatusOK
	first.ScheduledNS, first.IssuedNS, first.StartNS = 1_000_000, 1_010_000, 1_100_000
	first.DNS, first.Connect, first.TLS = 10*time.Microsecond, 10*time.Microsecond, 20*time.Microsecond
	failed := export.Request{HasMeta: true, ID: 8, Status: export.StatusTimeout, Message: "<b>", ScheduledNS: 1_200_000, StartNS: 1_200_000, FailedNS: 2_000_000}
	events, about := written(t, memrun.New("openai", []export.Request{first, failed}))
	check(t, events, "Xi",
		"X request 7 0.000+1000800.000 1/1",
		"X queue 0.000+60.000 1/1",
		"X connect 60.000+40.000 1/1",
		"X TTFT 100.000+300.000 1/1",
		"X decode 400.000+1000300.000 1/1",
		"X end 1000700.000+100.000 1/1",
		"i stall 700.000 1/1",
		"X request 8 200.000+800.000 1/2",
		"X answer 200.000+800.000 1/2",
		"i failed: timeout 1000.000 1/2",
	)
	check(t, events, "M",
		"M process_name 0.000 1/0 = concurrency 1", "M process_sort_index 0.000 1/0 = 1",
		"M thread_name 0.000 1/1 = slot 0", "M thread_sort_index 0.000 1/1 = 0",
		"M thread_name 0.000 1/2 = slot 1", "M thread_sort_index 0.000 1/2 = 1",
	)
	check(t, events, "C",
		"C requests in flight 100.000 1/0 = 1", "C requests in flight 200.000 1/0 = 2",
		"C requests in flight 1000.000 1/0 = 1", "C requests in flight 1000800.000 1/0 = 0",
		// Windows of 100 ms of the clock: the first begins 1 ms before the origin.
		"C token events per second -1000.000 1/0 = 40", "C token events per second 99000.000 1/0 = 0",
		"C token events per second 999000.000 1/0 = 10", "C token events per second 1099000.000 1/0 = 0",
	)
	if about["origin_ns"] != "1000000" {
		t.Errorf("origin %q", about["origin_ns"])
	}
	want := map[string]any{
		"id": 7.0, "start_ns": 100_000.0, "ttft_ns": 300_000.0, "e2el_ns": 1_000_700_000.0, "output_tokens": 5.0, "token_events": 5.0,
		"status": "ok", "slot": 0.0, "connection": 0.0,
	}
	for _, e := range events {
		if e.Name == "request 7" {
			if d := cmp.Diff(want, e.Args); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
		}
		if strings.HasPrefix(e.Name, "failed") && e.Args["message"] != "<b>" {
			t.Errorf("message %v", e.Args)
		}
	}
}

// A level and a rank are a process of their own. Requests without a time are counted.
func TestProcesses(t *testing.T) {
	r := memrun.New("", []export.Request{memrun.At(10, 20), memrun.At(30, 40), {}}, []export.Request{memrun.At(50, 60)})
	r.Requests[0][1].Rank = 3
	r.Header.Meta = &export.RunMeta{Tool: "pa-record x", Model: "m", Merged: &export.MergedMeta{}}
	events, about := written(t, r)
	var names []string
	for _, e := range events {
		if e.Name == "process_name" {
			names = append(names, fmt.Sprint(e.PID, " ", e.Args["name"]))
		}
	}
	if d := cmp.Diff([]string{"1 concurrency 1, rank 0", "2 concurrency 1, rank 3", "3 concurrency 2, rank 0"}, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := map[string]string{"origin_ns": "10", "tool": "pa-record x", "model": "m", "left_out": "1 request without a time near the others"}
	if d := cmp.Diff(want, about); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A single response is a first token only if another request of the level shows a stream.
func TestUndecided(t *testing.T) {
	names := func(requests ...export.Request) string {
		events, _ := written(t, memrun.New("", requests))
		for _, e := range events {
			if e.Name == "TTFT" || e.Name == "answer" {
				return e.Name
			}
		}
		return ""
	}
	if got := names(memrun.At(10, 20)); got != "answer" {
		t.Errorf("alone: %s", got)
	}
	if got := names(memrun.At(10, 20), memrun.At(30, 40, 50)); got != "TTFT" {
		t.Errorf("beside a stream: %s", got)
	}
}

// Gauges as they are, growth of counters a second, nothing of histograms and of failed scrapes.
func TestTelemetry(t *testing.T) {
	gauge := &export.Series{Name: "running", Type: "gauge", Labels: []export.Label{{Name: "gpu", Value: `0"`}}}
	counter := &export.Series{Name: "tokens_total", Type: "counter"}
	bucket := &export.Series{Name: "ttft_bucket", Type: "histogram"}
	scrape := func(startNS uint64, gaugeValue, counterValue float64) export.Scrape {
		return export.Scrape{Source: "http://a/metrics", StartNS: startNS, EndNS: startNS + 2000, Samples: []export.Sample{
			{Series: gauge, Value: gaugeValue}, {Series: counter, Value: counterValue}, {Series: bucket, Value: 1},
		}}
	}
	r := memrun.New("", []export.Request{memrun.At(1e9, 2e9)})
	r.Telemetry = []export.Scrape{
		scrape(1e9, 4, 100),
		{Source: "http://a/metrics", StartNS: 2e9, EndNS: 2e9, Error: "no"},
		scrape(3e9, math.NaN(), 150), scrape(4e9, math.Inf(1), 20), scrape(5e9, 1e300, math.NaN()), scrape(6e9, 2, 7),
	}
	events, _ := written(t, r)
	var got []readEvent
	for _, e := range events {
		if e.PID == 2 {
			got = append(got, e)
		}
	}
	check(t, got, "MC",
		"M process_name 0.000 2/0 = server metrics: http://a/metrics", "M process_sort_index 0.000 2/0 = 2",
		`C running{gpu="0\""} 1.000 2/0 = 4`,
		"C tokens_total per second 1.000 2/0 = 25", // 50 in two seconds; then it begins anew
		`C running{gpu="0\""} 4000001.000 2/0 = 1e+300`,
		`C running{gpu="0\""} 5000001.000 2/0 = 2`,
	)

	r = memrun.New("", []export.Request{memrun.At(1e9, 2e9)})
	many := export.Scrape{Source: "b", StartNS: 1e9, EndNS: 1e9}
	for i := range mostSeries + 3 {
		many.Samples = append(many.Samples, export.Sample{Series: &export.Series{Name: fmt.Sprint("g", i)}})
	}
	r.Telemetry = []export.Scrape{many, many}
	events, about := written(t, r)
	n := 0
	for _, e := range events {
		if e.PID == 2 && e.Ph == phaseCounter {
			n++
		}
	}
	if leftOut, err := Write(t.Context(), io.Discard, r, Config{}); err != nil || !slices.Equal(leftOut, []string{"the trace lacks 3 series, of sources with more than 200"}) {
		t.Errorf("left out: %q, %v", leftOut, err)
	}
	if n != 2*mostSeries || about["series_left_out"] != "3 series, of sources with more than 200" {
		t.Errorf("%d values, left out: %q", n, about["series_left_out"])
	}
}

// The parts of histograms, which the trace does not show, take no place of a series that it shows.
func TestTelemetryAfterHistograms(t *testing.T) {
	r := memrun.New("", []export.Request{memrun.At(1e9, 2e9)})
	s := export.Scrape{Source: "a", StartNS: 1e9, EndNS: 1e9}
	for i := range 2 * mostSeries {
		s.Samples = append(s.Samples, export.Sample{Series: &export.Series{Name: fmt.Sprint("h", i), Type: "histogram"}})
	}
	s.Samples = append(s.Samples, export.Sample{Series: &export.Series{Name: "running", Type: "gauge"}, Value: 3})
	r.Telemetry = []export.Scrape{s}
	events, about := written(t, r)
	var got []readEvent
	for _, e := range events {
		if e.PID == 2 {
			got = append(got, e)
		}
	}
	check(t, got, "C", "C running 0.000 2/0 = 3")
	if about["series_left_out"] != "" {
		t.Errorf("left out: %q", about["series_left_out"])
	}
}

// Random requests, also with times that cannot be: the slices of a thread are inside each other or
// apart, and the parts of a request fill it.
func TestNesting(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []export.Request
		for i := range rng.IntN(40) + 1 {
			start := uint64(1e9) + rng.Uint64N(1e6)
			q := memrun.At(start)
			q.HasMeta, q.ID, q.Worker = rng.IntN(2) == 0, uint64(i), rng.IntN(12)-2
			for range rng.IntN(5) {
				start += rng.Uint64N(1e5)
				q.Responses = append(q.Responses, export.Response{RecvNS: start})
			}
			if rng.IntN(4) == 0 {
				q.ScheduledNS, q.Connect = q.StartNS-rng.Uint64N(1e5), time.Duration(rng.Int64N(1e5))
			}
			switch rng.IntN(12) {
			case 0:
				q.StartNS = 0
			case 1:
				q.StartNS = math.MaxUint64 - rng.Uint64N(9)
			case 2:
				q.FailedNS, q.Status = q.StartNS+rng.Uint64N(1e6), export.StatusTruncated
			}
			all = append(all, q)
		}
		events, _ := written(t, memrun.New("", all))
		checkNesting(t, seed, events)
	}
}

// checkNesting walks over the slices of each thread, which come with the outer before the inner.
func checkNesting(t *testing.T, seed uint64, events []readEvent) {
	t.Helper()
	ns := func(n json.Number) int64 {
		whole, part, _ := strings.Cut(n.String(), ".")
		v, err := strconv.ParseInt(whole+part, 10, 64)
		if err != nil || len(part) != 3 {
			t.Fatalf("seed %d: time %q", seed, n)
		}
		return v
	}
	type span struct{ from, to int64 }
	outer, at := map[int]span{}, map[int]int64{}
	for _, e := range events {
		if e.Ph != phaseSlice {
			continue
		}
		s := span{ns(e.TS), ns(e.TS) + ns(e.Dur)}
		if e.Cat == "request" {
			if last, ok := outer[e.TID]; ok && s.from < last.to {
				t.Fatalf("seed %d: %v begins before the end of the request before", seed, &e)
			}
			outer[e.TID], at[e.TID] = s, s.from
			continue
		}
		if s.from < at[e.TID] || s.to > outer[e.TID].to || s.to <= s.from && e.Name != "TTFT" {
			t.Fatalf("seed %d: %v is not inside its request, or not after the part before", seed, &e)
		}
		at[e.TID] = s.to
		if float64(s.to-s.from) != e.Args["duration_ns"].(float64) || float64(s.from) != e.Args["start_ns"].(float64) {
			t.Fatalf("seed %d: %v has other nanoseconds: %v", seed, &e, e.Args)
		}
	}
}

// Many windows become longer ones; the sum stays.
func TestTokenRate(t *testing.T) {
	r := newTokenRate()
	for i := range uint64(3 * mostWindows) {
		r.add(i * tokenWindowNS)
	}
	sum := int64(0)
	for _, n := range r.counts {
		sum += n
	}
	if sum != 3*mostWindows || r.windowNS != 4*tokenWindowNS || len(r.counts) > mostWindows {
		t.Errorf("%d events in %d windows of %d ns", sum, len(r.counts), r.windowNS)
	}
}

// The errors of the writer and the end of the context come back.
func TestErrors(t *testing.T) {
	full := errors.New("full")
	r := func() export.Reader { return memrun.New("", []export.Request{memrun.At(10, 20)}) }
	if _, err := Write(t.Context(), failing{full}, r(), Config{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	if _, err := Write(ctx, &bytes.Buffer{}, r(), Config{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Sessions are a process of their own: a thread for each agent, in the order of the tree, and a further one for requests that
// overlap. Requests without a session are not in it.
func TestSessions(t *testing.T) {
	request := func(session, agent, parent string, depth, turn int, start, end uint64) export.Request {
		q := memrun.At(start*1000, end*1000)
		q.HasMeta, q.Status = true, export.StatusOK
		q.SessionID, q.Agent, q.ParentAgent, q.Depth, q.Turn = session, agent, parent, depth, turn
		return q
	}
	all := []export.Request{
		request("s", "", "", 0, 0, 10, 20),
		request("other<b>", "", "", 0, 0, 11, 12),
		request("s", "late", "", 1, 0, 22, 40),
		request("s", "first", "", 1, 0, 21, 30),
		request("s", "below", "first", 2, 0, 31, 36),
		request("s", "", "", 0, 1, 25, 50), // beside its sub-agents
		request("s", "", "", 0, 2, 45, 60), // beside its own request
		request("s", "", "", 0, 3, 50, 70), // the first thread is free again
		request("", "", "", 0, 0, 10, 90),
	}
	all[0].ScheduledNS = 5000 // it waited before it was sent
	events, _ := written(t, memrun.New("", all))
	var got []readEvent
	for _, e := range events {
		if e.PID == 2 && !strings.HasSuffix(e.Name, "sort_index") {
			got = append(got, e)
		}
	}
	check(t, got, "XM",
		"M process_name 0.000 2/0 = concurrency 1, sessions",
		"M thread_name 0.000 2/1 = s", "M thread_name 0.000 2/2 = s (2)",
		"M thread_name 0.000 2/3 = s › first", "M thread_name 0.000 2/4 = s › below",
		"M thread_name 0.000 2/5 = s › late", "M thread_name 0.000 2/6 = other<b>",
		"X turn 0 5.000+10.000 2/1", "X turn 0 6.000+1.000 2/6", "X turn 0 16.000+9.000 2/3", "X turn 0 17.000+18.000 2/5",
		"X turn 1 20.000+25.000 2/1", "X turn 0 26.000+5.000 2/4", "X turn 2 40.000+15.000 2/2", "X turn 3 45.000+20.000 2/1",
	)
	want := map[string]any{
		"id": 0.0, "session": "s", "agent": "below", "parent_agent": "first", "depth": 2.0, "turn": 0.0,
		"start_ns": 26_000.0, "duration_ns": 5_000.0, "status": "ok",
	}
	found := false
	for _, e := range got {
		if e.Args["agent"] == "below" {
			found = true
			if d := cmp.Diff(want, e.Args); d != "" {
				t.Errorf("arguments (-want +got):\n%s", d)
			}
		}
	}
	if !found {
		t.Error("no slice of the deepest agent")
	}
	if events, _ := written(t, memrun.New("", []export.Request{memrun.At(10, 20)})); len(events) == 0 || events[len(events)-1].PID > 1 {
		t.Errorf("a run without sessions: %v", events)
	}
}
