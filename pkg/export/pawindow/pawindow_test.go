package pawindow

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name       string
		boundaries []uint64
		want       []Window
	}{
		{"none", nil, nil},
		{"one is no window", []uint64{5}, nil},
		{"two", []uint64{5, 9}, []Window{{5, 9}}},
		{"contiguous", []uint64{1, 5, 6}, []Window{{1, 5}, {5, 6}}},
	} {
		if got := Cut(tt.boundaries); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Cut(%d) = %v, want %v", tt.name, tt.boundaries, got, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	windows := Cut([]uint64{100, 200, 300})
	for _, tt := range []struct {
		name string
		end  uint64
		want int
	}{
		{"before", 99, -1},
		{"on the first boundary", 100, 0},
		{"inside", 150, 0},
		{"on an inner boundary: seen first by the earlier", 200, 0},
		{"just after it", 201, 1},
		{"on the last boundary", 300, 1},
		{"after", 301, -1},
	} {
		if got := Find(windows, tt.end); got != tt.want {
			t.Errorf("%s: Find(%d) = %d, want %d", tt.name, tt.end, got, tt.want)
		}
	}
	if got := Find(nil, 5); got != -1 {
		t.Errorf("Find without windows = %d, want -1", got)
	}
	if w := (Window{0, math.MaxUint64}); Find([]Window{w}, 5) != 0 || !w.Unbounded() || (Window{0, 7}).Unbounded() {
		t.Error("the window of all time is not seen as such")
	}
	if d := (Window{9, 5}).Duration(); d != 0 {
		t.Errorf("a window backwards lasts %v, want 0", d)
	}
	if d := (Window{0, math.MaxUint64}).Duration(); d != math.MaxInt64 {
		t.Errorf("all of time lasts %v, want the longest there is", d)
	}
}

func TestReported(t *testing.T) {
	for n, want := range [][]int{{}, {0}, {0, 1}, {0, 1, 2}, {1, 2, 3}} {
		all := []int{0, 1, 2, 3}[:n]
		if got := Reported(all); !slices.Equal(got, want) {
			t.Errorf("Reported(%v) = %v, want %v", all, got, want)
		}
	}
}

// A request begins at 10, and has a response at 20, 30, ….
func request(outputs ...string) *export.Request {
	r := &export.Request{StartNS: 10}
	for i, o := range outputs {
		r.Responses = append(r.Responses, export.Response{
			RecvNS: uint64(20 + 10*i), Outputs: export.Fields{{Name: "o", Value: export.Text(o)}},
		})
	}
	return r
}

func TestEnd(t *testing.T) {
	backwards := request("a")
	backwards.StartNS = 21
	noOutputs := request("", "")
	noOutputs.NoOutputs = true
	for _, tt := range []struct {
		name      string
		r         *export.Request
		openAI    bool
		end       uint64
		responses int
		ok        bool
	}{
		{"no response", request(), false, 0, 0, false},
		{"one", request("a"), false, 20, 1, true},
		{"one, empty: a text of no length", request(""), false, 20, 1, true},
		{"empty final response", request("a", "b", ""), false, 30, 2, true},
		{"last one has text", request("a", "", "c"), false, 40, 3, true},
		{"a number is a value", numbered(request("a", "b")), false, 30, 2, true},
		{"ends before it starts", backwards, false, 20, 1, false},
		{"ends as it starts", &export.Request{StartNS: 20, Responses: request("a").Responses}, false, 20, 1, true},
		{"[DONE]", request("data: {}\n\n", "data: [DONE]\n\n"), true, 20, 1, true},
		{"[DONE] with the last token in a read", request("data: 1", "data: 2\n\ndata: [DONE]\n\n"), true, 20, 1, true},
		{"all in one read", request("data: 1\n\ndata: [DONE]\n\n"), true, 0, 0, false},
		{"[DONE] without the space is not seen", request("data: 1", "data:[DONE]", ""), true, 40, 3, true},
		{"an OpenAI answer may end with nothing", request("data: 1", ""), true, 30, 2, true},
		{"[DONE] from Triton is text", request("a", "data: [DONE]"), false, 30, 2, true},
		{"no outputs in the file", noOutputs, false, 30, 2, true},
	} {
		end, responses, ok := End(tt.r, NullLast(tt.r, tt.openAI))
		if end != tt.end || responses != tt.responses || ok != tt.ok {
			t.Errorf("%s: End = %d, %d, %v, want %d, %d, %v", tt.name, end, responses, ok, tt.end, tt.responses, tt.ok)
		}
	}
}

func numbered(r *export.Request) *export.Request {
	r.Responses[len(r.Responses)-1].Outputs[0].Value = export.JSON("0")
	return r
}

// The vectors are perf_analyzer's own, of its unit tests, and two that it gets
// wrong: it adds up squares in 64 bits.
func TestSummary(t *testing.T) {
	for _, tt := range []struct {
		name      string
		latencies []time.Duration
		mean      time.Duration
		std       uint64
	}{
		{"three", []time.Duration{100000, 200000, 50000}, 116666, 76},
		{"above 2³²", []time.Duration{4300000000, 4400000000, 5000000000}, 4566666666, 378593},
		{"one", []time.Duration{5000}, 5000, NoDeviation},
		{"equal", []time.Duration{7000, 7000, 7000}, 7000, 0},
		{"a difference of 5 s: 64 bits overflow", []time.Duration{0, 10e9}, 5e9, 7071067},
		{"hours", []time.Duration{1, 36e12}, 18e12, 25455844122},
	} {
		var s Stats
		for _, l := range tt.latencies {
			s.Add(l, 1)
		}
		got := s.Summary(nil)
		if got.Mean != tt.mean || got.StdDevUS != tt.std {
			t.Errorf("%s: mean %v, standard deviation %d µs, want %v, %d", tt.name, got.Mean, got.StdDevUS, tt.mean, tt.std)
		}
	}
}

// The sums in 128 bits are the obvious computation with big numbers.
func TestDeviationOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 2 + r.IntN(50)
		var s Stats
		var xs []uint64
		sum := new(big.Int)
		for range n {
			x := r.Uint64() >> (10 + r.IntN(50))
			xs = append(xs, x)
			sum.Add(sum, new(big.Int).SetUint64(x))
			s.Add(time.Duration(x), 1)
		}
		mean := new(big.Int).Quo(sum, big.NewInt(int64(n)))
		about := new(big.Int)
		for _, x := range xs {
			d := new(big.Int).Sub(new(big.Int).SetUint64(x), mean)
			about.Add(about, d.Mul(d, d))
		}
		about.Quo(about, big.NewInt(int64(n-1)))
		f, _ := new(big.Float).SetInt(about).Float64()
		want := uint64(math.Sqrt(f) / 1000)
		got := s.Summary(nil)
		if uint64(got.Mean) != mean.Uint64() || got.StdDevUS != want {
			t.Fatalf("%d: mean %d, deviation %d, want %d, %d", xs, got.Mean, got.StdDevUS, mean, want)
		}
	}
}

func TestPercentiles(t *testing.T) {
	for extra, want := range map[int][]int{-1: {50, 90, 95, 99}, 0: {50, 90, 95, 99}, 95: {50, 90, 95, 99}, 97: {50, 90, 95, 97, 99}, 1: {1, 50, 90, 95, 99}} {
		if got := Percentiles(extra); !slices.Equal(got, want) {
			t.Errorf("Percentiles(%d) = %d, want %d", extra, got, want)
		}
	}
	for _, tt := range []struct{ pct, n, want int }{
		{50, 1, 0}, {99, 1, 0}, {50, 2, 1}, {50, 3, 1}, {90, 7, 5}, {95, 7, 6}, {99, 100, 98}, {99, 101, 99}, {1, 1000, 10},
	} {
		if got := Index(tt.pct, tt.n); got != tt.want {
			t.Errorf("Index(%d, %d) = %d, want %d", tt.pct, tt.n, got, tt.want)
		}
	}
}

// Windows of 1, 2 and 3 s with 3 responses a second: perf_analyzer's own test of
// merging.
func TestMerge(t *testing.T) {
	var windows []Stats
	for i, latencies := range [][]time.Duration{{3000}, {1000, 2000}, {9000, 8000, 7000}} {
		w := Stats{Duration: time.Duration(i+1) * time.Second, Sequences: i, Delayed: 1}
		for _, l := range latencies {
			w.Add(l, 3)
		}
		windows = append(windows, w)
	}
	all := Merge(windows)
	got := all.Summary([]int{50, 99})
	want := Summary{
		Duration: 6e9, Requests: 6, Responses: 18, Sequences: 3, Delayed: 3, Mean: 5000, StdDevUS: 3,
		Percentiles: []Percentile{{50, 7000}, {99, 9000}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if r := got.PerSecond(got.Responses); r != 3 {
		t.Errorf("response throughput %v, want 3", r)
	}
	if ns := got.Typical(-1); ns != 5000 {
		t.Errorf("typical latency %v, want the mean", ns)
	}
	if ns := got.Typical(99); ns != 9000 {
		t.Errorf("99th percentile %v, want 9000", ns)
	}
	if got := Merge(nil); got.Requests != 0 {
		t.Errorf("nothing merged holds %d requests", got.Requests)
	}
}

func TestEmpty(t *testing.T) {
	var s Stats
	got := s.Summary(Percentiles(97))
	if diff := cmp.Diff(Summary{}, got); diff != "" {
		t.Errorf("empty (-want +got):\n%s", diff)
	}
	if r := got.PerSecond(5); r != 0 {
		t.Errorf("throughput of no time %v, want 0", r)
	}
	if _, ok := got.Percentile(99); ok {
		t.Error("a percentile of nothing")
	}
}

// Seconds in single precision show in the sixth digit: 35 requests in the three
// windows of a recorded run of perf_analyzer 24.08, which printed 5.83112.
func TestPerSecondSingle(t *testing.T) {
	if got, want := PerSecond(1, 3), float64(float32(1)/(float32(3)/1e9)); got != want {
		t.Errorf("PerSecond(1, 3 ns) = %v, want %v", got, want)
	}
	if got := PerSecond(16777217, 1e9); got != 16777216 {
		t.Errorf("PerSecond(2²⁴+1, 1 s) = %v, want the nearest float32", got)
	}
}

func TestTimes(t *testing.T) {
	timed := func(start, sent, first uint64, received ...uint64) *export.Request {
		r := &export.Request{StartNS: start, SentNS: sent, FirstByteNS: first}
		for _, ns := range received {
			r.Responses = append(r.Responses, export.Response{RecvNS: ns})
		}
		return r
	}
	good := []*export.Request{timed(100, 110, 150, 160, 200), timed(1000, 1010, 1100, 1121)}
	for _, tt := range []struct {
		name     string
		requests []*export.Request
		want     *MeanTimes
	}{
		{"none", nil, nil},
		{"two, rounded down", good, &MeanTimes{Request: 110, Send: 10, Receive: 35}},
		{"one without its first byte", append(slices.Clone(good), timed(100, 110, 0, 200)), nil},
		{"one that was not seen leaving", append(slices.Clone(good), timed(100, 0, 150, 200)), nil},
		{"an answer that ends before it begins", append(slices.Clone(good), timed(100, 110, 150, 140)), nil},
	} {
		var all, half Times
		for i, r := range tt.requests {
			if i%2 == 0 {
				half.Add(r)
			} else {
				all.Add(r)
			}
		}
		all.Merge(&half)
		if diff := cmp.Diff(tt.want, all.Means()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDelayed(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    export.Request
		want bool
	}{
		{"in time", export.Request{ScheduledNS: 5e9, IssuedNS: 5e9 + 1e6}, false},
		{"more than 1 ms late", export.Request{ScheduledNS: 5e9, IssuedNS: 5e9 + 1e6 + 1}, true},
		{"early", export.Request{ScheduledNS: 5e9, IssuedNS: 5e9 - 1}, false},
		{"no schedule", export.Request{IssuedNS: 5e9}, false},
		{"not recorded", export.Request{ScheduledNS: 5e9}, false},
	} {
		if got := Delayed(&tt.r); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
