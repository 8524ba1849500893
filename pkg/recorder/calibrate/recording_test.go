package calibrate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/montanaflynn/stats"

	"github.com/pa-tools/pa/pkg/export"
)

const (
	kernel = export.SourceKernel
	user   = export.SourceUser
)

// request returns a successful request that started at 1000 by the kernel's
// clock and has these responses.
func request(responses ...export.Response) *export.Request {
	return &export.Request{Status: export.StatusOK, StartNS: 1000, StartSource: kernel, Responses: responses}
}

func TestRecording(t *testing.T) {
	type exchange struct {
		q *export.Request
		t *Truth
	}
	failed := request()
	failed.Status = export.StatusTimeout
	noStart := request()
	noStart.StartNS, noStart.StartSource = 0, export.SourceUnknown
	byUser := request(export.Response{RecvNS: 2000, Source: user})
	byUser.StartSource = user
	for _, row := range []struct {
		name string
		add  []exchange
		want export.CalibratedRecording
	}{
		{name: "nothing"},
		{
			name: "one token, late, and started early",
			add: []exchange{{
				request(export.Response{RecvNS: 2007, Source: kernel}),
				&Truth{ReceivedNS: 1003, Events: []Event{{KernelNS: 2000, UserNS: 1990, Tokens: 1}}},
			}},
			want: export.CalibratedRecording{
				Requests: 1, Sources: export.StampCount{Kernel: 1}, StartSources: export.StampCount{Kernel: 1},
				Receive: &export.ClockError{N: 1, Truth: export.StampCount{Kernel: 1}, MedianNS: 7, P50NS: 7, P90NS: 7, P99NS: 7, P999NS: 7, MaxNS: 7},
				Start:   &export.ClockError{N: 1, Truth: export.StampCount{Kernel: 1}, MedianNS: -3, P50NS: 3, P90NS: 3, P99NS: 3, P999NS: 3, MaxNS: 3},
			},
		},
		{
			name: "the server's own clock where its kernel said nothing; arrival unknown",
			add:  []exchange{{byUser, &Truth{Events: []Event{{UserNS: 1990, Tokens: 2}}}}},
			want: export.CalibratedRecording{
				Requests: 1, Sources: export.StampCount{User: 1}, StartSources: export.StampCount{User: 1},
				Receive: &export.ClockError{N: 1, Truth: export.StampCount{User: 1}, MedianNS: 10, P50NS: 10, P90NS: 10, P99NS: 10, P999NS: 10, MaxNS: 10},
			},
		},
		{
			name: "the start was not recorded",
			add:  []exchange{{noStart, &Truth{ReceivedNS: 5}}},
			want: export.CalibratedRecording{Requests: 1},
		},
		{
			name: "not judged: a role, a usage, [DONE]; merged: only tokens with tokens",
			add: []exchange{{
				request(
					export.Response{RecvNS: 99, Source: kernel, Read: 0}, // role
					export.Response{RecvNS: 100, Source: kernel, Read: 0},
					export.Response{RecvNS: 220, Source: user, Read: 1},
					export.Response{RecvNS: 220, Source: kernel, Read: 1},
					export.Response{RecvNS: 220, Source: kernel, Read: 1}, // usage
					export.Response{RecvNS: 240, Source: kernel, Read: 2},
					export.Response{RecvNS: 240, Source: kernel, Read: 2}, // [DONE]
				),
				&Truth{Events: []Event{
					{KernelNS: 1},
					{KernelNS: 100, Tokens: 1},
					{KernelNS: 200, Tokens: 1},
					{KernelNS: 210, Tokens: 1},
					{KernelNS: 1},
					{KernelNS: 260, Tokens: 3},
					{KernelNS: 1},
				}},
			}},
			want: export.CalibratedRecording{
				Requests: 1, Sources: export.StampCount{Kernel: 3, User: 1}, StartSources: export.StampCount{Kernel: 1}, Merged: 1,
				// −20 0 10 20, and 0 10 20 20.
				Receive: &export.ClockError{N: 4, Truth: export.StampCount{Kernel: 4}, MedianNS: 5, P50NS: 15, P90NS: 20, P99NS: 20, P999NS: 20, MaxNS: 20},
			},
		},
		{
			name: "skipped: failed, unknown to the server, other responses than it sent",
			add: []exchange{
				{failed, &Truth{ReceivedNS: 1}},
				{request(), nil},
				{request(export.Response{RecvNS: 1}), &Truth{Events: []Event{{KernelNS: 1, Tokens: 1}, {KernelNS: 2, Tokens: 1}}}},
			},
			want: export.CalibratedRecording{Skipped: 3},
		},
		{
			name: "several requests are pooled",
			add: []exchange{
				{request(export.Response{RecvNS: 10}), &Truth{ReceivedNS: 1010, Events: []Event{{KernelNS: 0, UserNS: 20, Tokens: 1}}}},
				{request(export.Response{RecvNS: 40}), &Truth{ReceivedNS: 980, Events: []Event{{KernelNS: 10, UserNS: 1, Tokens: 1}}}},
			},
			want: export.CalibratedRecording{
				Requests: 2, StartSources: export.StampCount{Kernel: 2},
				Receive: &export.ClockError{N: 2, Truth: export.StampCount{Kernel: 1, User: 1}, MedianNS: 10, P50NS: 20, P90NS: 28, P99NS: 30, P999NS: 30, MaxNS: 30},
				Start:   &export.ClockError{N: 2, Truth: export.StampCount{Kernel: 2}, MedianNS: 5, P50NS: 15, P90NS: 19, P99NS: 20, P999NS: 20, MaxNS: 20},
			},
		},
	} {
		r := newRecording("kernel")
		row.want.Stamps = "kernel"
		for _, e := range row.add {
			r.Add(e.q, e.t)
		}
		if d := cmp.Diff(row.want, r.Result()); d != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, d)
		}
	}
}

// slowPercentile is the definition: linear between order statistics.
func slowPercentile(x []int64, p float64) float64 {
	f := make([]float64, len(x))
	for i, v := range x {
		f[i] = float64(v)
	}
	slices.Sort(f)
	h := p * float64(len(f)-1)
	i := int(h)
	if i == len(f)-1 {
		return f[i]
	}
	return f[i] + (h-float64(i))*(f[i+1]-f[i])
}

func TestPercentile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		x := make([]int64, 1+r.IntN(50))
		for i := range x {
			x[i] = r.Int64N(2000) - 1000
		}
		sorted := slices.Sorted(slices.Values(x))
		for _, p := range []float64{0, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			got, want := float64(percentile(sorted, p)), slowPercentile(x, p)
			if got < want-0.5-1e-9 || got > want+0.5+1e-9 {
				t.Fatalf("percentile(%d, %v) = %v, want %v rounded", sorted, p, got, want)
			}
		}
		median, err := stats.Median(stats.LoadRawData(x))
		if got := percentile(sorted, 0.5); err != nil || float64(got) < median-0.5 || float64(got) > median+0.5 {
			t.Fatalf("the median of %d is %d, want %v (%v)", sorted, got, median, err)
		}
	}
}
