package trace

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
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
}

// Write writes the run of r to w: all requests, whether they count or not, and the telemetry. It
// holds all requests in memory, some 400 bytes each.
//
// It returns the errors of w and the cause of ctx's end. The error of r is not returned, except
// an [export.ErrContradiction]: see r.Err.
// A run without requests has an empty list of events.
func Write(ctx context.Context, w io.Writer, r export.Reader, cfg Config) error {
	t, err := read(ctx, r, cfg)
	if err != nil {
		return err
	}
	if err := r.Err(); errors.Is(err, export.ErrContradiction) {
		return err
	}
	out := newWriter(w)
	pid := 1
	for _, g := range t.groups {
		lanes := assignLanes(g.requests)
		out.name("process", pid, 0, g.name, pid)
		for lane := range lanes {
			out.name("thread", pid, lane+1, "slot "+strconv.Itoa(lane), lane)
		}
		for _, q := range g.requests {
			q.write(out, pid, t.originNS)
		}
		writeInFlight(out, pid, g.requests, t.originNS)
		g.tokens.write(out, pid, t.originNS)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pid++
	}
	leftOut, err := writeTelemetry(ctx, out, r, pid, t.originNS)
	if err != nil {
		return err
	}
	return out.close(about(r.Run(), t, leftOut))
}

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
		all["left_out"] = plural.GroupedOf(t.timeless, "request") + " without a time near the others"
	}
	if leftOut > 0 {
		all["series_left_out"] = plural.Grouped(leftOut) + " series, of sources with more than " + strconv.Itoa(mostSeries)
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
	requests []*request
	tokens   *tokenRate
}

// read reads the requests of r.
func read(ctx context.Context, r export.Reader, cfg Config) (*timeline, error) {
	run := r.Run()
	t := &timeline{}
	if run.Meta != nil {
		t.originNS = run.Meta.StartNS
	}
	type key struct{ level, rank int }
	groups := map[key]*group{}
	streamed := map[int]bool{} // levels
	var undecided []*request
	levelOf := map[*request]int{}
	meter := answer.NewMeter(run, cfg.Config)
	for index := uint64(0); r.Next(); index++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		request, level := r.Request(), r.Experiment()
		m := meter.Measure(request)
		streamed[level] = streamed[level] || m.ShowsStream()
		q, ok := newRequest(request, m, index, &cfg.Stalls)
		if !ok {
			t.timeless++
			continue
		}
		k := key{level, request.Rank}
		g := groups[k]
		if g == nil {
			g = &group{name: groupName(run, level, request.Rank), tokens: newTokenRate()}
			groups[k] = g
			t.groups = append(t.groups, g)
		}
		g.requests = append(g.requests, &q)
		if q.undecided {
			undecided = append(undecided, &q)
			levelOf[&q] = level
		}
		if m.Streamed != answer.StreamedNo {
			for i := range m.Answer.Events {
				g.tokens.add(m.Answer.Events[i].RecvNS)
			}
		}
		if t.originNS == 0 || q.beginNS < t.originNS {
			t.originNS = q.beginNS
		}
	}
	for _, g := range t.groups {
		g.requests = slices.DeleteFunc(g.requests, func(q *request) bool {
			far := !answer.Elapsed(t.originNS, q.endNS).OK
			if far {
				t.timeless++
			}
			return far
		})
	}
	for _, q := range undecided {
		if !streamed[levelOf[q]] {
			q.ttft = answer.Value{}
		}
	}
	return t, nil
}

// groupName names a process: the level, and the rank in a run of several.
func groupName(run *export.Run, level, rank int) string {
	name := report.LevelWords(&run.Experiments[level])
	if m := run.Meta; m != nil && m.Merged != nil {
		name += ", rank " + strconv.Itoa(rank)
	}
	return name
}

func decimal(v uint64) string { return strconv.FormatUint(v, 10) }
