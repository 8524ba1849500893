package memrun

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// epoch is the start of the runs: 2023-11-14 22:13:20 UTC.
const epoch = 1_700_000_000e9

// RandomRun returns a whole run with these values of concurrency and n requests a level, some of
// which do not count. The requests of a level are in the order of their ids, first the
// requests that count.
func RandomRun(rng *rand.Rand, n int, levels ...string) *Reader {
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	r := &Reader{Header: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "tiny", Streaming: &streaming, Start: export.StartFirstSegment,
		Seed: 7, DatasetSHA256: "d5", StartNS: epoch, Host: &export.HostMeta{Name: "a", OS: "linux", Arch: "amd64", CPUs: 2, GoVersion: "go"},
	}}}
	now, id := uint64(epoch), uint64(0)
	for _, value := range levels {
		e := export.Experiment{Mode: export.ModeConcurrency, Value: value, Meta: &export.ExperimentMeta{StartNS: now}}
		begin := now
		var counted, excluded []export.Request
		end := now
		for range n {
			now += uint64(rng.IntN(5_000_000))
			id++
			q := randomRequest(rng, id, now)
			if last, ok := q.FinalResponseNS(); ok {
				end = max(end, last)
			}
			end = max(end, q.FailedNS)
			if q.Excluded() == export.NotExcluded {
				counted = append(counted, q)
			} else {
				excluded = append(excluded, q)
			}
		}
		e.WindowBoundaries = []uint64{begin, end}
		e.Meta.EndNS = end
		now = end
		Count(e.Meta, append(counted, excluded...))
		r.Header.Experiments = append(r.Header.Experiments, e)
		r.Requests = append(r.Requests, append(counted, excluded...))
	}
	r.Header.Meta.EndNS = now
	r.Header.Meta.Stamps = stamps(r.Requests)
	return r
}

// randomRequest returns a random request that starts at start.
func randomRequest(rng *rand.Rand, id, start uint64) export.Request {
	q := export.Request{
		ID: id, IssuedNS: start - 1000, StartNS: start, SentNS: start + 500, StartSource: export.SourceKernel, HasMeta: true,
		Status: export.StatusOK, Phase: export.PhaseMeasured, Worker: rng.IntN(4),
		Inputs: export.Fields{{Name: "payload", Value: export.Text(fmt.Sprintf(`{"model":"tiny","stream":true,"n":%d}`, rng.IntN(3)))}},
	}
	at := start + uint64(rng.IntN(50_000_000))
	for i := range rng.IntN(12) {
		if i > 0 {
			at += uint64(rng.IntN(9_000_000))
		}
		q.Responses = append(q.Responses, export.Response{
			RecvNS: at, Source: export.SourceKernel, Read: uint32(i),
			Outputs: export.Fields{{Name: "response", Value: export.Text(Delta(strconv.Itoa(rng.IntN(100))))}},
		})
	}
	switch k := rng.IntN(20); {
	case k == 0:
		q.Phase = export.PhaseWarmup
	case k == 1:
		q.Phase = export.PhaseCooldown
	case k == 2:
		q.Status, q.FailedNS = export.StatusCancelled, at
	case k == 3, len(q.Responses) == 0:
		q.Status, q.FailedNS, q.Message = export.StatusTimeout, at, fmt.Sprintf("no answer to %d", id)
	default:
		if rng.IntN(2) == 0 {
			q.Responses = append(q.Responses, export.Response{RecvNS: at + 1000, Source: export.SourceKernel, Read: 12, Outputs: export.Fields{{Name: "response", Value: export.Text(Usage5)}}})
		}
	}
	return q
}

// Count sets the counts of a level by its requests.
func Count(m *export.ExperimentMeta, all []export.Request) {
	m.Measured, m.Failed, m.Warmup, m.Late, m.Cancelled = 0, 0, 0, 0, 0
	for i := range all {
		switch all[i].Excluded() {
		case export.NotExcluded:
			m.Measured++
		case export.ExcludedFailed:
			m.Failed++
		case export.ExcludedWarmup:
			m.Warmup++
		case export.ExcludedLate:
			m.Late++
		case export.ExcludedCancelled:
			m.Cancelled++
		}
	}
}

func stamps(levels [][]export.Request) *export.StampCount {
	c := &export.StampCount{}
	for _, all := range levels {
		for i := range all {
			for k := range all[i].Responses {
				c.Add(all[i].Responses[k].Source)
			}
		}
	}
	return c
}

// clockBoundNS is the bound of the offsets of Divide.
const clockBoundNS = 1000

// Divide returns the shards of a whole run for n ranks: request i belongs to rank i mod n.
// offsets[k], if there is one, is the clock of rank 0 minus the clock of rank k, with a bound
// of 1000 ns; a rank whose clock differs by more ran on a machine of its own. The shards share no
// memory with the run.
func Divide(whole *Reader, n int, offsets ...int64) []*Reader {
	var all []*Reader
	for rank := range n {
		var offset int64
		if rank < len(offsets) && rank > 0 {
			offset = offsets[rank]
		}
		own := func(t uint64) uint64 {
			if t == 0 {
				return 0
			}
			return t - uint64(offset)
		}
		m := *whole.Header.Meta
		s := &Reader{Header: whole.Header}
		s.Header.Meta = &m
		m.StartNS, m.EndNS = own(m.StartNS), own(m.EndNS)
		m.Shard = &export.ShardMeta{Rank: rank, WorldSize: n, Run: "r1", PlanSHA256: "p1", DividedBy: export.DividedByRequest, Launcher: "flags"}
		if h := m.Host; h != nil && max(offset, -offset) > clockBoundNS {
			other := *h // one machine has one clock
			other.Name += strconv.Itoa(rank)
			m.Host = &other
		}
		if rank > 0 {
			m.Shard.OffsetBefore = &export.ClockOffset{OffsetNS: offset - 400, BoundNS: 600, AtNS: m.StartNS, Exchanges: 8}
			m.Shard.OffsetAfter = &export.ClockOffset{OffsetNS: offset + 400, BoundNS: 600, AtNS: m.EndNS, Exchanges: 8}
		}
		s.Header.Experiments = nil
		for i := range whole.Header.Experiments {
			e := whole.Header.Experiments[i]
			x := *e.Meta
			e.Meta = &x
			var part []export.Request
			for k := range whole.Requests[i] {
				if q := whole.Requests[i][k].Clone(); q.ID%uint64(n) == uint64(rank) {
					q.Rank = rank
					for _, t := range []*uint64{&q.ScheduledNS, &q.IssuedNS, &q.StartNS, &q.SentNS, &q.FirstByteNS, &q.FailedNS} {
						*t = own(*t)
					}
					for j := range q.Responses {
						q.Responses[j].RecvNS = own(q.Responses[j].RecvNS)
					}
					part = append(part, *q)
				}
			}
			x.StartNS, x.EndNS = own(x.StartNS), own(x.EndNS)
			e.WindowBoundaries = nil
			for _, t := range whole.Header.Experiments[i].WindowBoundaries {
				e.WindowBoundaries = append(e.WindowBoundaries, own(t))
			}
			Count(&x, part)
			x.Share = share(e.Value, rank, n, part)
			s.Header.Experiments = append(s.Header.Experiments, e)
			s.Requests = append(s.Requests, part)
		}
		m.Stamps = stamps(s.Requests)
		all = append(all, s)
	}
	return all
}

// share divides the slots of a level among n ranks.
func share(value string, rank, n int, part []export.Request) *export.LevelShare {
	slots, err := strconv.Atoi(value)
	if err != nil {
		panic(err)
	}
	own := slots / n
	if rank < slots%n {
		own++
	}
	measured := 0
	for i := range part {
		if part[i].Phase == export.PhaseMeasured {
			measured++
		}
	}
	return &export.LevelShare{Value: strconv.Itoa(own), Requests: &measured, BeginNS: epoch}
}

// Again returns a reader of a copy of r, from the beginning. Readers of shards change
// requests in place.
func Again(r *Reader) *Reader {
	c := &Reader{Header: r.Header, Telemetry: r.Telemetry, Failure: r.Failure, Notes: r.Notes, Unread: r.Unread}
	for _, all := range r.Requests {
		var copies []export.Request
		for i := range all {
			copies = append(copies, *all[i].Clone())
		}
		c.Requests = append(c.Requests, copies)
	}
	return c
}
