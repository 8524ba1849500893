package shards

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// ClientConfig says what is known about the clocks of several clients.
type ClientConfig struct {
	// BoundNS bounds how far the clocks of the clients differ; below 0 it is not known. Clients of one machine have one clock.
	BoundNS int64
}

// A ClientError reports that the files of several clients are not one run. Files that could be if the bound of the clocks were known have
// NeedsBound set.
type ClientError struct {
	Text       string
	NeedsBound bool
}

func (e *ClientError) Error() string { return e.Text }

// An extent is the time that a client took for a level, and its requests.
type extent struct {
	from, to uint64
	counts   export.RequestCounts
}

// MergeClients returns a Reader of whole runs that several clients made of one server at the same time, each with a load of its own. The
// clients stand in the given order, as ranks. Their levels belong together if they have the same load, or if each client has one level;
// levels overlap in time on one clock, and the loads add up. The ids of requests and sessions stay apart. MergeClients
// reads a file once more if it does not state when its levels began and ended. Closing the Reader closes all files; if MergeClients
// fails they stay open. It returns a *ClientError for files that are not one run.
func MergeClients(ctx context.Context, all []Shard, cfg ClientConfig) (*Reader, error) {
	if len(all) < 2 {
		return nil, &ClientError{Text: "the files of at least two clients make a run"}
	}
	bound, err := cfg.check(all)
	if err != nil {
		return nil, err
	}
	extents := make([][]extent, len(all))
	for i, s := range all {
		if extents[i], err = extentsOf(ctx, s); err != nil {
			return nil, err
		}
	}
	return mergeClients(all, extents, bound)
}

// mergeClients merges clients whose files agree, and whose extents are known.
func mergeClients(all []Shard, extents [][]extent, bound int64) (*Reader, error) {
	r := &Reader{again: func(all []Shard) (*Reader, error) { return mergeClients(all, extents, bound) }}
	run := clientRun(all)
	for i, s := range all {
		place := &export.ShardMeta{Rank: i, WorldSize: len(all), Run: run, DividedBy: export.DividedByClient}
		if i > 0 {
			place.OffsetBefore = &export.ClockOffset{BoundNS: bound}
		}
		r.shards = append(r.shards, &rankShard{Shard: s, run: clientHeader(s.Reader.Run()), meta: place, clock: clockOf(place), clients: len(all)})
	}
	apart, err := r.pairClients(extents)
	if err != nil {
		return nil, err
	}
	r.join(r.shards[0])
	for i, warning := range apart {
		if m := r.run.Experiments[i].Meta; warning != "" {
			m.Warnings = append(m.Warnings, warning)
		}
	}
	r.keepCommon()
	return r, nil
}

// check returns the bound of the clocks, or an error if the files are not runs of several clients of one server.
func (cfg *ClientConfig) check(all []Shard) (bound int64, err error) {
	refuse := func(format string, args ...any) (int64, error) {
		return 0, &ClientError{Text: fmt.Sprintf(format, args...)}
	}
	host := ""
	oneMachine := true
	for i, s := range all {
		if slices.ContainsFunc(all[:i], func(other Shard) bool { return other.Name == s.Name }) {
			return refuse("%s is given twice: give the file of each client once", s.Name)
		}
		run := s.Reader.Run()
		m := run.Meta
		if m != nil && (m.Shard != nil || m.Merged != nil) {
			return refuse("%s is a part of a run, or was merged before: give the files that the clients wrote", s.Name)
		}
		for _, p := range []export.Part{export.PartStarts, export.PartEpoch} {
			if why, lacks := run.Lacks(p); lacks {
				return refuse("%s has no times on a common clock: %s", s.Name, why)
			}
		}
		name := ""
		if m != nil && m.Host != nil && !strings.HasPrefix(m.Host.Name, "localhost") {
			name = m.Host.Name
		}
		if i == 0 {
			host = name
		}
		oneMachine = oneMachine && name != "" && name == host
		first := all[0].Reader.Run()
		for _, x := range [...]struct{ what, a, b string }{
			{"models", metaText(first, func(m *export.RunMeta) string { return m.Model }), metaText(run, func(m *export.RunMeta) string { return m.Model })},
			{"kinds of service", export.TextOf(first.ServiceKind), export.TextOf(run.ServiceKind)},
			{"endpoints", export.TextOf(first.Endpoint), export.TextOf(run.Endpoint)},
			{"kinds of file", importOf(first), importOf(run)},
		} {
			if x.a != x.b && (x.a != "" && x.b != "" || x.what == "kinds of file") {
				return refuse("%s and %s are of different %s: %q and %q", all[0].Name, s.Name, x.what, x.a, x.b)
			}
		}
	}
	switch {
	case oneMachine && cfg.BoundNS <= 0:
		return 0, nil
	case cfg.BoundNS < 0:
		return 0, &ClientError{Text: "the files do not say how far the clocks of their clients differ", NeedsBound: true}
	case cfg.BoundNS > maxOffsetNS:
		return refuse("a bound of %s is not above 0", time.Duration(cfg.BoundNS))
	}
	return cfg.BoundNS, nil
}

func metaText(run *export.Run, of func(*export.RunMeta) string) string {
	if run.Meta == nil {
		return ""
	}
	return of(run.Meta)
}

// importOf names the kind of a file of another tool; "" for a recording.
func importOf(run *export.Run) string {
	if run.Meta == nil || run.Meta.Import == nil {
		return ""
	}
	return run.Meta.Import.Format
}

// clientRun returns an id of the run that depends on the files alone.
func clientRun(all []Shard) string {
	h := sha256.New()
	for _, s := range all {
		m := s.Reader.Run().Meta
		if m == nil {
			m = &export.RunMeta{}
		}
		fmt.Fprintf(h, "%q %d %d %d\n", s.Name, m.StartNS, m.EndNS, m.Seed)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// clientHeader returns a copy of a header whose levels can be changed.
func clientHeader(run *export.Run) *export.Run {
	out := *run
	m := export.RunMeta{Schema: export.Schema, Tool: "perf_analyzer"} // the only tool whose files have no metadata
	if run.Meta != nil {
		m = *run.Meta
	}
	out.Meta = &m
	out.Experiments = slices.Clone(run.Experiments)
	for i := range out.Experiments {
		x := export.ExperimentMeta{}
		if own := out.Experiments[i].Meta; own != nil {
			x = *own
		}
		out.Experiments[i].Meta = &x
	}
	return &out
}

// extentsOf returns the extents of the levels of a file.
func extentsOf(ctx context.Context, s Shard) ([]extent, error) {
	levels := s.Reader.Run().Experiments
	all := make([]extent, len(levels))
	stated := true
	for i := range levels {
		m := levels[i].Meta
		if stated = stated && m != nil && m.StartNS > 0 && m.EndNS > m.StartNS; stated {
			all[i] = extent{m.StartNS, m.EndNS, m.RequestCounts}
		}
	}
	if stated {
		return all, nil
	}
	again, ok, err := export.Reopen(ctx, s.Reader)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, &ClientError{Text: s.Name + " can be read only once, and does not say when its levels began: write it to a file first"}
	}
	all = make([]extent, len(levels))
	rows := export.Read(again, export.Need{AnyOrder: true})
	for rows.Next() && ctx.Err() == nil {
		i := rows.Experiment()
		if i < 0 || i >= len(all) {
			continue // Next of the merge reports it
		}
		q, x := rows.Request(), &all[i]
		if q.Excluded() == export.NotExcluded {
			x.counts.Measured++
		} else {
			x.counts.Failed++
		}
		end := max(q.StartNS, q.FailedNS)
		if ns, ok := q.FinalResponseNS(); ok {
			end = max(end, ns)
		}
		if q.StartNS > 0 && (x.from == 0 || q.StartNS < x.from) {
			x.from = q.StartNS
		}
		x.to = max(x.to, end)
	}
	// A file that breaks off is merged as far as it goes, and then the merge has this error.
	return all, errorsOf(ctx, again.Close())
}

// errorsOf returns the reason why a reading was ended early, or the error of closing.
func errorsOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// pairClients finds the levels that were sent at the same time, and adds up their loads. It returns for each level a warning if the
// clients were at work together for a part of it.
func (r *Reader) pairClients(extents [][]extent) (apart []string, err error) {
	first := r.shards[0]
	one := !slices.ContainsFunc(r.shards, func(s *rankShard) bool {
		return len(s.run.Experiments) != 1 || s.run.Experiments[0].Mode != first.run.Experiments[0].Mode
	})
	for _, s := range r.shards {
		own, levels := s.run.Experiments, first.run.Experiments
		if len(own) != len(levels) {
			return nil, &ClientError{Text: fmt.Sprintf("%s has %s and %s %s: clients of one run have the same levels", first.Name, plural.Of(len(levels), "level"), s.Name, plural.Of(len(own), "level"))}
		}
		for i := range own {
			if !one && !sameLoad(&own[i], &levels[i]) {
				return nil, &ClientError{Text: fmt.Sprintf("level %d is %s in %s and %s in %s: clients of one run have the same levels, or one level each", i+1, loadName(&levels[i]), first.Name, loadName(&own[i]), s.Name)}
			}
			s.levels = append(s.levels, i)
		}
	}
	for i := range first.run.Experiments {
		warning, err := r.addLoads(i, extents)
		if err != nil {
			return nil, err
		}
		apart = append(apart, warning)
	}
	return apart, nil
}

// loadName returns "concurrency 8"; "a load that is not known" without one.
func loadName(e *export.Experiment) string {
	if e.Mode+e.Value == "" {
		return "a load that is not known"
	}
	return export.LoadName(e.Mode, e.Value)
}

// mostTogether is the share of the longest time of a level above which the clients counted as at work together all the time.
const mostTogether = 0.95

// addLoads gives all parts of level i the sum of the loads. The warning says for how long the clients were at work together, if not all
// the time.
func (r *Reader) addLoads(i int, extents [][]extent) (warning string, err error) {
	from, to, begin, end := uint64(0), uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(0)
	late, early := 0, 0 // the client that began last, and the one that ended first
	sum, known := 0.0, true
	var names []string
	for k, s := range r.shards {
		x, e := extents[k][i], &s.run.Experiments[i]
		if x.to == 0 {
			return "", &ClientError{Text: fmt.Sprintf("%s has no request of %s, so it does not say when the client sent it; report the files apart", s.Name, loadName(e))}
		}
		if x.from > from {
			from, late = x.from, k
		}
		if x.to < to {
			to, early = x.to, k
		}
		begin, end = min(begin, x.from), max(end, x.to)
		v, err := strconv.ParseFloat(e.Value, 64)
		known = known && err == nil && v > 0 && !math.IsInf(v, 0) && (e.Mode == export.ModeConcurrency || e.Mode == export.ModeRequestRate)
		sum += v
		name := loadName(e)
		if e.Meta.Load != "" {
			name = e.Meta.Load
		}
		names = append(names, name)
	}
	if to <= from {
		return "", &ClientError{Text: fmt.Sprintf("%s ended %s before %s began: the clients did not send %s at the same time on one clock; report the files apart, or give the files of one run",
			r.shards[early].Name, time.Duration(from-to), r.shards[late].Name, names[0])}
	}
	name := strings.Join(names, " + ")
	if len(slices.Compact(slices.Clone(names))) == 1 {
		name = fmt.Sprintf("%d × %s", len(names), names[0])
	}
	for k, s := range r.shards {
		e := &s.run.Experiments[i]
		e.Meta.Load = name
		if known {
			e.Meta.Share = &export.LevelShare{Value: e.Value}
			e.Value = strconv.FormatFloat(sum, 'g', -1, 64)
		}
		if e.Meta.StartNS == 0 || e.Meta.EndNS == 0 {
			e.Meta.StartNS, e.Meta.EndNS, e.Meta.RequestCounts = extents[k][i].from, extents[k][i].to, extents[k][i].counts
		}
	}
	if both, whole := float64(to-from), float64(end-begin); both < mostTogether*whole {
		warning = fmt.Sprintf("%s clients sent together for %s of %s; the load was smaller in the rest",
			plural.All(len(names)), time.Duration(to-from).Round(time.Millisecond), time.Duration(end-begin).Round(time.Millisecond))
	}
	return warning, nil
}

// keepCommon removes from the header of the run what only the first client states for itself.
func (r *Reader) keepCommon() {
	m := r.run.Meta
	first := metaOf(r.shards[0])
	differ := func(of func(*export.RunMeta) string) bool {
		return slices.ContainsFunc(r.shards, func(s *rankShard) bool { return of(metaOf(s)) != of(first) })
	}
	for _, x := range [...]struct {
		what  string
		of    func(*export.RunMeta) string
		clear func()
	}{
		{"the command line", func(m *export.RunMeta) string { return fmt.Sprintf("%q", m.Args) }, func() { m.Args = nil }},
		{"the settings of the recorder", func(m *export.RunMeta) string { return string(m.Config) }, func() { m.Config = nil }},
		{"the seed", func(m *export.RunMeta) string { return strconv.FormatUint(m.Seed, 10) }, func() { m.Seed = 0 }},
		{"the input data", func(m *export.RunMeta) string { return m.DatasetSHA256 }, func() { m.DatasetSHA256, m.Dataset = "", nil }},
	} {
		if differ(x.of) {
			x.clear()
			m.Merged.LeftOut = append(m.Merged.LeftOut, x.what+": each client has its own")
		}
	}
	m.Repeat, m.AnalysisHints, m.Submission = nil, nil, nil // of one client
	if m.Import != nil {
		whole := *m.Import
		whole.Results, whole.Totals, whole.Lacks = nil, nil, nil
		for _, s := range r.shards {
			own := metaOf(s).Import
			if own == nil { // a file that names no format is not told from a recording
				continue
			}
			for _, l := range own.Lacks {
				l.Mode, l.Value = "", ""
				if !slices.Contains(whole.Lacks, l) {
					whole.Lacks = append(whole.Lacks, l)
				}
			}
		}
		m.Import = &whole
	}
}

// rename keeps the ids of a client's request apart from the ids of other clients: request 7 of client 1 of 2 becomes 15, its session s
// becomes 1/s.
func (s *rankShard) rename(r *export.Request) {
	n, rank := uint64(s.clients), uint64(s.meta.Rank)
	if r.ID > (math.MaxUint64-rank)/n || r.SequenceID > (math.MaxUint64-rank)/n {
		s.seen.tooLarge(s.Name, r.ID)
		return
	}
	r.ID = r.ID*n + rank
	if r.SequenceID != 0 {
		r.SequenceID = r.SequenceID*n + rank
	}
	if r.SessionID != "" {
		r.SessionID = strconv.Itoa(s.meta.Rank) + "/" + r.SessionID
	}
}

// tooLarge keeps the error about an id that leaves no room for the ids of other clients.
func (x *Requests) tooLarge(name string, id uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.keep(&RequestError{[]string{name}, fmt.Sprintf("%s: the id %d of a request leaves no room for the ids of other clients; the file is damaged", name, id)})
}
