package main

import (
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder"
)

// positions says where in the input data the runs of a command line begin. The runs of one
// repetition begin alike whatever their server, so that a comparison has pairs, unless
// that server has had the requests already. The zero value is ready to use.
type positions struct {
	begins map[int]int               // by repetition, from 1; warm-up runs have negative ones
	next   map[int]int               // after the last run of a server, by server
	hash   map[int]recorder.DataHash // of the first run of a server
}

// first returns where a run begins.
func (p *positions) first(run *settings.Run) int {
	if p.begins == nil {
		p.begins, p.next, p.hash = map[int]int{}, map[int]int{}, map[int]recorder.DataHash{}
	}
	repetition := run.Of.Index
	if run.Of.Warmup { // Index counts warm-up runs by themselves
		repetition = -repetition
	}
	begin, known := p.begins[repetition]
	if !known {
		for _, next := range p.next {
			begin = max(begin, next)
		}
		p.begins[repetition] = begin
	}
	return max(begin, p.next[run.Server])
}

// ended notes where a run has ended; res is nil if it sent nothing.
func (p *positions) ended(run *settings.Run, res *recorder.Result) {
	if res == nil {
		return
	}
	p.next[run.Server] = res.Next
	if run.Of.Warmup { // its data is not what the exports describe
		return
	}
	if _, known := p.hash[run.Server]; !known {
		p.hash[run.Server] = res.Hash
	}
}
