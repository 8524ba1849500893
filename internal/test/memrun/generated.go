package memrun

import (
	"runtime"

	"github.com/pa-tools/pa/pkg/export"
)

// A Generated reads requests that are made one at a time, so that a long run takes no memory.
type Generated struct {
	Reader
	n, at   int
	request export.Request
	end     func()
}

// NewGenerated returns a reader of one level with n requests, a millisecond apart, without inputs and outputs and
// with so many responses each. It calls end when all requests have been read.
func NewGenerated(n, responses int, end func()) *Generated {
	g := &Generated{Reader: *New("openai", nil), n: n, end: end}
	g.request.Responses = make([]export.Response, responses)
	return g
}

// Next implements export.Reader.
func (g *Generated) Next() bool {
	if g.at == g.n {
		g.end()
		return false
	}
	g.at++
	noise := uint64(g.at) * 7919 % 1_000_003 // ns
	g.request.StartNS = 1_700_000_000_000_000_000 + uint64(g.at)*1e6 + noise
	for i := range g.request.Responses {
		g.request.Responses[i].RecvNS = g.request.StartNS + 5e6 + uint64(i)*2e6 + 3*noise
	}
	return true
}

// Request implements export.Reader.
func (g *Generated) Request() *export.Request { return &g.request }

// HeapInUse returns the bytes of the heap that are in use.
func HeapInUse() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// HeldByEach returns how many bytes of the heap each further request of a run takes: measure reads a run of n
// requests, and returns HeapInUse at the moment that matters.
func HeldByEach(measure func(n int) uint64) float64 {
	const few, many = 5_000, 20_000
	measure(few) // memory that is kept for later
	before := float64(measure(few))
	return (float64(measure(many)) - before) / (many - few)
}

// AllocatedByEach returns how many bytes are allocated on the heap for each further member of a run, such as a
// level: measure reads a run with n of them.
func AllocatedByEach(measure func(n int)) float64 {
	const few, many = 50, 150
	allocated := func(n int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		measure(n)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(few) // memory that is kept for later
	return (allocated(many) - allocated(few)) / (many - few)
}

// Levels returns a reader of n levels of three requests with three responses each.
func Levels(n int) *Reader {
	var levels [][]export.Request
	for i := range n {
		at := 1e18 + uint64(i)*1e9
		var requests []export.Request
		for range 3 {
			at += 1e7
			requests = append(requests, At(at, at+1e6, at+2e6, at+3e6))
		}
		levels = append(levels, requests)
	}
	return New("openai", levels...)
}
