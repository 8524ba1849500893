package answer

import (
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Realtime holds the times of a request to v1/realtime that depend on its audio, in ns.
type Realtime struct {
	// Deltas holds for each token event its time after the audio that it can be about: after the last chunk that had left when it
	// came.
	Deltas []int64
	// Final is the time from the end of the audio, when its last chunk left, to the last message. It is missing if the server
	// ended the transcription before all audio was sent.
	Final export.Int
	// Late holds for each chunk after the first one how long after its time in the schedule it left.
	Late []int64
}

// realtime returns the times of r with the answer a; nil if r has no input with the times of its audio, or one that cannot be
// true.
func (m *Meter) realtime(r *export.Request, a *Answer) *Realtime {
	v, ok := r.Inputs.Get(openai.RealtimeSentInput)
	if !ok {
		return nil
	}
	sent, err := openai.ParseRealtimeSent(v.Data)
	if err != nil || len(sent.SentNS) == 0 || sent.IntervalNS < 0 || uint64(sent.IntervalNS) > m.bounds.spanNS {
		return nil
	}
	last := int64(-1)
	for _, ns := range sent.SentNS {
		if ns < last || uint64(ns) > m.bounds.spanNS {
			return nil
		}
		last = ns
	}
	x := &Realtime{}
	for i, ns := range sent.SentNS[1:] {
		if due := Elapsed(uint64(sent.SentNS[0]), uint64(ns)); due.OK && sent.IntervalNS <= int64(m.bounds.spanNS)/int64(i+1) {
			x.Late = append(x.Late, max(0, due.V-int64(i+1)*sent.IntervalNS))
		}
	}
	chunk := 0
	for i := range a.Events {
		came := Elapsed(r.StartNS, a.Events[i].RecvNS)
		if !came.OK || came.V < sent.SentNS[0] || uint64(came.V) > m.bounds.spanNS {
			continue // before any audio
		}
		for chunk+1 < len(sent.SentNS) && sent.SentNS[chunk+1] <= came.V {
			chunk++
		}
		x.Deltas = append(x.Deltas, came.V-sent.SentNS[chunk])
	}
	if ns, ok := r.FinalResponseNS(); ok && sent.CommitNS != nil {
		if end := Elapsed(r.StartNS, ns); end.OK && end.V >= last && uint64(end.V) <= m.bounds.spanNS {
			x.Final = export.IntOf(end.V - last)
		}
	}
	return x
}

// pack appends x to p.
func (x *Realtime) pack(p *spool.Packer) {
	packValues(p, []*export.Int{&x.Final})
	for _, all := range [...][]int64{x.Deltas, x.Late} {
		p.Each(len(all), 0, func(i int) int64 { return all[i] })
	}
}

// unpack sets x to what pack appended.
func (x *Realtime) unpack(u *spool.Unpacker) {
	unpackValues(u, []*export.Int{&x.Final})
	for _, all := range [...]*[]int64{&x.Deltas, &x.Late} {
		u.Each(0, func(n int) { *all = make([]int64, n) }, func(i int, v int64) { (*all)[i] = v })
	}
}
