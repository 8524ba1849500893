package trace

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Config says how requests are measured. The zero value is the strict default.
type Config struct {
	answer.Config
	// Stalls finds the gaps that are marked. Its zero value marks every gap above 0.
	Stalls quality.Stalls
	// MemoryLimit is about the memory that the whole program takes at most, in bytes; 0 means
	// analyze.DefaultMemoryLimit. Requests that do not fit move to a temporary file in [os.TempDir]. A
	// request takes up to 32 bytes of memory for good, and an agent of a session about 300.
	MemoryLimit int64
}

// Write writes the run of r to w: all requests, whether they count or not, and the telemetry. leftOut says in
// sentences what of them is not in the trace.
//
// It returns the errors of w and the cause of ctx's end. The error of r is not returned, except
// an [export.ErrContradiction]: see r.Err.
// A run without requests has an empty list of events.
func Write(ctx context.Context, w io.Writer, r export.Reader, cfg Config) (leftOut []string, err error) {
	memory := analyze.ValueMemory(cfg.MemoryLimit)
	blocks := spool.NewBlocks(memory/2, "", "requests")
	defer func() { err = errors.Join(err, blocks.Err(), blocks.Close()) }()
	t, err := read(ctx, r, cfg, blocks)
	if err != nil {
		return nil, err
	}
	if err := r.Err(); errors.Is(err, export.ErrContradiction) {
		return nil, err
	}
	out := newWriter(w)
	pid := 1
	for _, g := range t.groups {
		g.requests.Sort()
		lane, n, sessions := t.assignLanes(g)
		out.name("process", pid, 0, g.name, pid)
		for l := range n {
			out.name("thread", pid, l+1, "slot "+strconv.Itoa(l), l)
		}
		if len(sessions.order) > 0 {
			sessions.name(out, pid+1, g.name)
		}
		flight := newInFlight(memory/2, t.originNS)
		i := 0
		t.each(g, func(q *request) bool {
			q.lane = int(lane[i])
			q.write(out, pid, t.originNS)
			sessions.write(out, pid+1, i, q, t.originNS)
			i++
			flight.add(q)
			return out.err == nil && ctx.Err() == nil
		})
		if err := flight.write(out, pid); err != nil {
			return nil, err
		}
		g.tokens.write(out, pid, t.originNS)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		g.requests.Release()
		pid++
		if len(sessions.order) > 0 {
			pid++
		}
	}
	series, err := writeTelemetry(ctx, out, r, pid, t.originNS)
	if err != nil {
		return nil, err
	}
	all := about(r.Run(), t, series)
	for _, key := range [...]string{leftOutKey, seriesLeftOutKey} {
		if all[key] != "" {
			leftOut = append(leftOut, "the trace lacks "+all[key])
		}
	}
	return leftOut, out.close(all)
}

// Keys of what a file says is not in it.
const (
	leftOutKey       = "left_out"
	seriesLeftOutKey = "series_left_out"
)

// about returns what the file says about the run.
func about(run *export.Run, t *timeline, leftOut int) map[string]string {
	all := map[string]string{"origin_ns": decimal(t.originNS)}
	if m := run.Meta; m != nil {
		all["tool"] = m.Tool
		if m.Model != "" {
			all["model"] = m.Model
		}
	}
	if t.timeless > 0 {
		all[leftOutKey] = plural.GroupedOf(t.timeless, "request") + " without a time near the others"
	}
	if leftOut > 0 {
		all[seriesLeftOutKey] = plural.Grouped(leftOut) + " series, of sources with more than " + strconv.Itoa(mostSeries)
	}
	return all
}

// A timeline holds the requests of a run.
type timeline struct {
	groups []*group
	// originNS is the earliest time of the run, the time 0 of the file.
	originNS uint64
	// timeless counts the requests without any time, or with a damaged one that is centuries away from
	// the others: no time axis can show them.
	timeless int
}

// A group holds the requests of a level that one rank sent.
type group struct {
	name     string
	requests spool.Records // by begin, and then by id
	tokens   *tokenRate
}

// A shownRequest is a request, the rank that sent it, and its token events.
type shownRequest struct {
	request
	rank   int
	events []answer.Event
}

// newShown is like newRequest. Without a stream there are no token events.
func newShown(r *export.Request, m *answer.Measured, index uint64, finder *quality.Stalls) (q shownRequest, ok bool) {
	q.rank = r.Rank
	if q.request, ok = newRequest(r, m, index, finder); m.Streamed != answer.StreamedNo {
		q.events = m.Answer.Events
	}
	return q, ok
}

// clone returns a copy of q that stays valid.
func (q shownRequest) clone() shownRequest {
	a := &q.args
	for _, text := range [...]*string{&a.Message, &a.Model, &a.Session, &a.Agent, &a.ParentAgent} {
		*text = strings.Clone(*text)
	}
	q.events = slices.Clone(q.events)
	return q
}

// read reads the requests of r. They share blocks.
func read(ctx context.Context, r export.Reader, cfg Config, blocks *spool.Blocks) (*timeline, error) {
	run := r.Run()
	t := &timeline{}
	if m, _ := run.Meta.Possible(); m != nil {
		t.originNS = m.StartNS
	}
	type key struct{ level, rank int }
	groups := map[key]*group{}
	use := func(level int, q shownRequest) {
		k := key{level, q.rank}
		g := groups[k]
		if g == nil {
			g = &group{name: groupName(run, level, q.rank), requests: spool.Records{Blocks: blocks}, tokens: newTokenRate()}
			groups[k] = g
			t.groups = append(t.groups, g)
		}
		g.requests.Add(q.beginNS, q.args.ID, q.pack)
		for i := range q.events {
			g.tokens.add(q.events[i].RecvNS)
		}
		if t.originNS == 0 || q.beginNS < t.originNS {
			t.originNS = q.beginNS
		}
	}
	queue := answer.NewStreamQueue(use)
	meter := answer.NewMeter(run, cfg.Config)
	for index := uint64(0); r.Next(); index++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		request, level := r.Request(), r.Experiment()
		m := meter.Measure(request)
		decided := queue.Pass(level, m)
		q, ok := newShown(request, m, index, &cfg.Stalls)
		switch {
		case !ok:
			t.timeless++
		case decided:
			use(level, q)
		default:
			queue.Hold(level, m, func() shownRequest {
				q, _ := newShown(request, m, index, &cfg.Stalls)
				return q.clone()
			})
		}
	}
	queue.End()
	return t, nil
}

// each calls do with the requests of the group that the trace shows, in the order of their begins, until it returns
// false. It returns the number of requests with a time too far from the origin. A request is valid until do
// returns.
func (t *timeline) each(g *group, do func(q *request) bool) (far int) {
	var u spool.Unpacker
	var q request
	g.requests.Each(func(_ int, record []byte) bool {
		u.Bytes = record
		q.unpack(&u)
		if !answer.Elapsed(t.originNS, q.endNS).OK {
			far++
			return true
		}
		return do(&q)
	})
	return far
}

// groupName names a process: the level, and the rank in a run of several.
func groupName(run *export.Run, level, rank int) string {
	e, _ := run.Experiments[level].Possible()
	name := report.LevelWords(&e)
	if m := run.Meta; m != nil && m.Merged != nil {
		name += ", rank " + strconv.Itoa(rank)
	}
	return name
}

func decimal(v uint64) string { return strconv.FormatUint(v, 10) }
