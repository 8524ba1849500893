package recorder

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/internal/histogram"
	"github.com/pa-tools/pa/pkg/recorder/selfstat"
)

// A clientView gathers what the recorder sees of itself while it measures a
// level. It belongs to the collector: requests are looked at when they are
// over, the process a few times a second, and nothing at all per event.
type clientView struct {
	watch *selfstat.Watch

	turnaround, toStart, lateness histogram.Histogram
	// ends are, for each slot, when its last request ended; 0 when the next
	// start says nothing about the client: there was none, or it failed and the
	// slot waits before it tries again, or a schedule decides.
	ends       []uint64
	sent       int
	heldBack   int
	firstStart uint64
	lastStart  uint64
	lastEnd    uint64
	reads      export.ReadMeta
	stamps     export.StampCount
}

func newClientView() *clientView {
	return &clientView{watch: selfstat.Start()}
}

// add takes a request that is over, and the count of its stamps. Those of one
// slot come in their order.
func (v *clientView) add(x *backend.Exchange, stamps export.StampCount) {
	r := &x.Request
	end, answered := r.EndNS()
	if !answered {
		end = r.EndedNS
	}
	v.lastEnd = max(v.lastEnd, end)
	for len(v.ends) <= r.Worker {
		v.ends = append(v.ends, 0)
	}
	last := v.ends[r.Worker]
	v.ends[r.Worker] = 0
	if r.Status == export.StatusOK && answered {
		v.ends[r.Worker] = end
	}
	if x.HeldBack {
		v.heldBack++
	}
	if r.StartNS != 0 {
		v.sent++
		if v.firstStart == 0 || r.StartNS < v.firstStart {
			v.firstStart = r.StartNS
		}
		v.lastStart = max(v.lastStart, r.StartNS)
		connecting := connecting(r)
		if last != 0 && r.ScheduledNS == 0 {
			v.turnaround.Add(time.Duration(r.StartNS-last) - connecting)
		}
		if r.IssuedNS != 0 {
			v.toStart.Add(time.Duration(r.StartNS-r.IssuedNS) - connecting)
		}
		if r.ScheduledNS != 0 && !x.HeldBack {
			v.lateness.Add(time.Duration(r.StartNS-r.ScheduledNS) - connecting)
		}
	}
	v.stamps.Merge(stamps)
	if x.Tokens.N > 0 {
		v.read(r.Responses[x.Tokens.First : x.Tokens.Last+1])
	}
}

// connecting returns how long the request waited for a connection of its own
// after it was issued. One that was made ahead did not keep it waiting.
func connecting(r *export.Request) time.Duration {
	d := r.DNS + r.Connect + r.TLS
	if r.Reused || r.IssuedNS == 0 || d > time.Duration(r.StartNS-r.IssuedNS) {
		return 0
	}
	return d
}

// read counts responses that share a read, from the first token to the last. A
// role before them or the end behind them often comes in one piece with them,
// which moves nothing that is measured.
func (v *clientView) read(responses []export.Response) {
	v.reads.Responses += uint64(len(responses))
	for i := 1; i < len(responses); i++ {
		if responses[i].Read == responses[i-1].Read {
			v.reads.Merged++
		}
	}
}

// finish returns what was seen; asked is what a schedule wanted, nil in a closed
// loop.
func (v *clientView) finish(asked *offer) *export.ClientMeta {
	m := &export.ClientMeta{
		Turnaround: v.turnaround.Export(), IssueToStart: v.toStart.Export(), Lateness: v.lateness.Export(),
		HeldBack: v.heldBack, Reads: &v.reads, Stamps: &v.stamps,
	}
	if asked != nil {
		// n instants have n−1 gaps.
		m.OfferedPerSecond = perSecond(asked.requests-1, asked.fromNS, asked.untilNS)
		m.AchievedPerSecond = perSecond(v.sent-1, v.firstStart, max(asked.untilNS, v.lastStart))
	} else {
		m.AchievedPerSecond = perSecond(v.sent, v.firstStart, v.lastEnd)
	}
	v.watch.Fill(m)
	return m
}

// perSecond is the rate of n requests, 0 where there was no time.
func perSecond(n int, fromNS, untilNS uint64) float64 {
	if untilNS <= fromNS || n < 0 {
		return 0
	}
	return float64(n) / time.Duration(untilNS-fromNS).Seconds()
}
