package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// secretVariable is the environment variable with the secret of the barrier. It is no
// flag, because other users of a machine can see the flags of a process.
const secretVariable = "PA_RECORD_BARRIER_SECRET"

// rankFlags returns the flags for a run that several processes record together.
func (s *settings) rankFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "rank", Category: catRanks, Usage: "number `N` of this process, from 0, among those that record the run together", DefaultText: "as mpirun, srun, torchrun or a Kubernetes Indexed Job says"},
		&cli.IntFlag{Name: "world-size", Category: catRanks, Usage: "`N` processes record the run together, each sending its share of the load; 1 records alone", DefaultText: "as the launcher says, which Kubernetes does not"},
		&cli.StringFlag{Name: "barrier", Category: catRanks, Usage: "the ranks meet before each level at `HOST:PORT` of rank 0, which serves it; " + secretVariable + " holds a secret that all share", Destination: &s.barrier},
		&cli.DurationFlag{Name: "barrier-timeout", Category: catRanks, Usage: "give up if a rank is still missing after `DURATION`", Value: ranks.DefaultTimeout, Destination: &s.barrierTimeout},
		&cli.StringFlag{Name: "start-at", Category: catRanks, Usage: "instead of meeting, begin at `TIME` (2026-01-31T12:00:00Z, or seconds since 1970) by each machine's clock; for one level"},
	}
}

// rankSettings is the place of this process among the ranks of a run. It
// has no JSON, because the exports of all ranks hold the same settings.
type rankSettings struct {
	world          ranks.World
	barrier        string // host:port; "" for none
	barrierSecret  string
	barrierTimeout time.Duration
	startAt        time.Time // zero for none

	// sourceIPs are local addresses, which differ between machines.
	sourceIPs []netip.Addr
}

// ranks reads the flags of rankFlags, after the load and the measurement.
func (p *parser) ranks(s *settings, getenv func(string) string) {
	given := func(name string) *int {
		if !p.c.IsSet(name) {
			return nil
		}
		n := p.c.Int(name)
		return &n
	}
	var err error
	if s.world, err = ranks.Find(getenv, ranks.Flags{Rank: given("rank"), Size: given("world-size")}); err != nil {
		p.errs = append(p.errs, err)
		return
	}
	s.barrierSecret = getenv(secretVariable)
	start := p.c.String("start-at")
	if !s.world.Several() {
		for flag, text := range map[string]string{"barrier": s.barrier, "start-at": start} {
			p.refuse(text != "" && s.world.Size == 0, "--%s needs the rank of this process and the number of ranks: start it with mpirun or srun, or give --rank and --world-size (in Kubernetes %s)", flag, ranks.SizeVariable)
		}
		return
	}
	switch {
	case s.barrier != "" && start != "":
		p.errorf("--barrier and --start-at exclude each other; drop one")
	case s.barrier != "":
		p.barrierAddress(s)
	case start != "":
		p.startAt(s, start)
	default:
		says := s.world.Launcher + " says"
		if s.world.Launcher == ranks.LauncherFlags {
			says = "the flags say"
		}
		p.errorf("%v, as %s: the ranks need --barrier HOST:PORT or --start-at to begin together; --world-size 1 records alone", s.world, says)
	}
	if s.HTML != "" {
		p.errorf("--html: a page of several ranks needs the exports of all; write it with %s", sanitize.Command("pa-analyze", "html", sanitize.PathArgument(s.allRanksPattern(s.exportPaths()[0])), "-o", sanitize.PathArgument(s.HTML)))
	}
	if s.Report {
		p.errorf("--report: a report of several ranks needs the exports of all; print it with %s", sanitize.Command("pa-analyze", "report", sanitize.PathArgument(s.allRanksPattern(s.exportPaths()[0]))))
	}
	p.indivisible(s)
}

// barrierAddress checks --barrier and what belongs to it.
func (p *parser) barrierAddress(s *settings) {
	host, port, err := net.SplitHostPort(s.barrier)
	n, portErr := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	switch {
	case err != nil || host == "" || portErr != nil || n == 0:
		p.errorf("--barrier %s: expected HOST:PORT of rank 0, such as node1:7788", s.barrier)
	case s.barrierSecret == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()):
		p.errorf("--barrier %s: set %s to a text that only the ranks know, so that nobody else can join", s.barrier, secretVariable)
	}
	p.refuse(s.barrierTimeout <= 0, "--barrier-timeout %v: must be positive", s.barrierTimeout)
}

// startAt reads --start-at.
func (p *parser) startAt(s *settings, text string) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		seconds, numberErr := strconv.ParseFloat(text, 64)
		if numberErr != nil || !(seconds > 0 && seconds < 1e11) {
			p.errorf("--start-at %s: expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970", text)
			return
		}
		at = time.Unix(0, int64(seconds*1e9))
	}
	s.startAt = at
	const instead = "only one start is known beforehand; use --barrier"
	switch {
	case s.Repeat > 1 || len(s.Servers) > 1:
		p.errorf("--start-at and several runs exclude each other: %s", instead)
	case len(s.levels) > 1:
		p.errorf("--start-at and several levels exclude each other: %s", instead)
	case s.Warmup > 0 && len(s.Concurrency) > 0 && !s.conversations():
		p.errorf("--start-at and --warmup-request-count exclude each other with a concurrency, whose warm-up ends before the measurement begins: %s, or give --warmup-duration", instead)
	}
}

// indivisible refuses what no rank can decide by itself, and loads that have no shares.
func (p *parser) indivisible(s *settings) {
	several := fmt.Sprintf("a run of %d ranks", s.world.Size)
	m := &s.Measure
	switch {
	case s.AutoSweep:
		p.errorf("--auto-sweep: %s has no sweep, because no rank knows the throughput of all; list the rates", several)
	case s.BinarySearch:
		p.errorf("--binary-search: %s has no search, because no rank knows the latency of all; list the levels", several)
	case s.levelPlan != nil:
		p.errorf("--%s: %s has no search, because no rank knows the latency of all; list the levels", s.limitFlag(), several)
	case s.Periodic != "":
		p.errorf("--periodic-concurrency-range: its steps follow the responses of all requests, which no rank of %s has; use --ramp-up", several)
	case !m.Fixed() && !s.hasEnd():
		p.errorf("%s needs --request-count or --duration, because no rank knows the windows of all", several)
	}
	p.refuse(s.MaxErrorRate != nil, "--max-error-rate: no rank of %s knows the failures of all; look at the merged report", several)
	p.refuse(s.MaxOverflowRate != nil, "--max-overflow-rate: no rank of %s knows the requests of all; look at the merged report", several)
	p.refuse(s.starts != nil, "--session-start-ratio: each rank of %s would begin the measurement at another time; record with one, or drop it", several)
	p.refuse(s.SessionWindow == windowRefill, "--session-window %s: no rank of %s knows the slots of all; record with one, or drop it", windowRefill, several)
	p.refuse(p.bustsEntries() || s.marker != nil && !p.c.IsSet("cache-salt"), "--cache-bust: each rank of %s would draw another text; give all ranks the same --cache-salt TEXT, such as the number of the job", several)
	if n := s.slotsOfSessions(); n > 0 && n < s.world.Size {
		p.errorf("--%s %d: %s needs at least one session at a time for each", s.shapeFlag, n, several)
	}
	p.refuse(s.conversations() && m.Counted() && s.WarmupDuration+s.RampUp > 0, "--request-count and --warmup-duration or --ramp-up exclude each other for the sessions of %s, because no rank knows how many requests of all are warm-up; give --warmup-request-count", several)
	p.refuse(s.conversations() && s.sendOrder.Kind == workload.Random, "--dataset-sampling-strategy random: conversations that are drawn with replacement cannot be divided among ranks; use shuffle")
	what := "request"
	if s.conversations() {
		what = "session"
	}
	p.refuse(s.MaxConcurrency > 0 && s.MaxConcurrency < s.world.Size, "--max-concurrency %d: less than one %s in flight for each of %d ranks", s.MaxConcurrency, what, s.world.Size)
	for _, level := range s.levels {
		if closed, ok := level.(load.Concurrency); ok && closed.N < s.world.Size {
			s.note("%v: %d of %d ranks %s no slot, because there are fewer slots than ranks", level, s.world.Size-closed.N, s.world.Size, plural.Form(s.world.Size-closed.N, "has", "have"))
		}
	}
}

// rankPlaceholder stands for the rank in the name of a file.
const rankPlaceholder = "%r"

// rankedPath returns the name of a rank's file: the rank in place of %r, or else before the
// suffix, x.json → x.rank0.json. rank is a number, or a pattern for all. A process that
// records alone leaves the name as it is, unless its rank is given and the name has
// %r.
func (s *settings) rankedPath(path, rank string) string {
	switch {
	case s.world.Size > 0 && strings.Contains(path, rankPlaceholder):
		return strings.ReplaceAll(path, rankPlaceholder, rank)
	case s.world.Several():
		return numberedPath(path, "rank"+rank)
	}
	return path
}

// exportPaths returns the exports of this process, without the number of a run.
func (s *settings) exportPaths() []string { return s.pathsOf(s.world.Rank) }

// pathsOf returns the exports of a rank.
func (s *settings) pathsOf(rank int) []string {
	paths := slices.Clone(s.Exports)
	for i, path := range paths {
		paths[i] = s.rankedPath(path, strconv.Itoa(rank))
	}
	return paths
}

// allRanksPattern returns the pattern that means the export of all ranks whose export by
// this rank is path; "" if no pattern does.
func (s *settings) allRanksPattern(path string) string {
	for _, name := range s.Exports {
		if s.rankedPath(name, strconv.Itoa(s.world.Rank)) == path {
			if s.rankedPath(name, "*") != path {
				return s.rankedPath(sanitize.Pattern(name), "*")
			}
		}
	}
	return ""
}

// commonPlan returns the settings on which all ranks must agree, as text. The runs of a
// series are in it without their files, because each rank has its own.
func (s *settings) commonPlan() []byte {
	common := *s
	common.Runs = slices.Clone(s.Runs)
	for i := range common.Runs {
		common.Runs[i].Exports, common.Runs[i].CSV = nil, ""
	}
	text, err := json.Marshal(&common)
	if err != nil {
		panic(err) // plain data
	}
	return text
}

// A worldPlan is what --dry-run shows of a run that several processes record together.
type worldPlan struct {
	Rank      int        `json:"rank"` // of this process
	WorldSize int        `json:"world_size"`
	Launcher  string     `json:"launcher"`
	Barrier   string     `json:"barrier,omitempty"`
	StartAt   string     `json:"start_at,omitempty"`
	Ranks     []rankPlan `json:"ranks"`
}

// A rankPlan is the part of one rank.
type rankPlan struct {
	Rank    int         `json:"rank"`
	Exports []string    `json:"profile_export_file"`
	Levels  []levelPart `json:"levels,omitempty"`
}

// A levelPart is a rank's part of a level: slots of a concurrency, requests per second of
// a rate.
type levelPart struct {
	Level string `json:"level"`
	export.LevelShare
}

// worldPlan returns what each rank does; nil for a process that records alone.
func (s *settings) worldPlan() *worldPlan {
	w := s.world
	if !w.Several() {
		return nil
	}
	plan := &worldPlan{Rank: w.Rank, WorldSize: w.Size, Launcher: w.Launcher, Barrier: s.barrier}
	if !s.startAt.IsZero() {
		plan.StartAt = s.startAt.Format(time.RFC3339Nano)
	}
	for rank := range w.Size {
		one := rankPlan{Rank: rank, Exports: s.pathsOf(rank)}
		at := ranks.World{Rank: rank, Size: w.Size}
		for _, level := range s.levels {
			one.Levels = append(one.Levels, levelPart{level.String(), recorder.PlannedShare(at, level, s.Measure.Measure, s.Warmup, time.Duration(s.WarmupDuration))})
		}
		plan.Ranks = append(plan.Ranks, one)
	}
	return plan
}

// rankGroup connects this process with the others that record a run together. nil is a
// process that records alone.
type rankGroup struct {
	s       *settings
	session *ranks.Session // nil with --start-at
	id      string         // of the runs of all ranks
}

// joinRanks meets the other ranks, if there are any. leave must be called at the end,
// with the error of the command, and returns it with the number of the rank. The other
// ranks end with the error, too, unless it is the loss of a rank: rank 0 tells them of
// it, and they complete their shares of the load.
func joinRanks(ctx context.Context, s *settings) (r *rankGroup, leave func(error) error, err error) {
	if !s.world.Several() {
		return nil, func(err error) error { return err }, nil
	}
	r = &rankGroup{s: s}
	named := func(err error) error {
		if withoutBareCode(err) == nil {
			return err
		}
		return fmt.Errorf("rank %d: %w", s.world.Rank, err)
	}
	if !s.startAt.IsZero() {
		r.id = fmt.Sprintf("start-%d", s.startAt.UnixNano())
		return r, named, nil
	}
	r.session, err = ranks.Join(ctx, ranks.Config{World: s.world, Addr: s.barrier, Secret: s.barrierSecret, Timeout: s.barrierTimeout})
	if err != nil {
		return nil, nil, named(err)
	}
	r.id = r.session.ID()
	return r, func(err error) error {
		var ended *ranks.EndedError
		var lost *ranks.LostError
		if withoutBareCode(err) != nil && !errors.As(err, &ended) && !errors.As(err, &lost) {
			r.session.End(err.Error())
		}
		return named(errors.Join(err, r.session.Close()))
	}, nil
}

// forRun returns what the recorder needs to know of the ranks for a run; nil for a process
// that records alone.
func (r *rankGroup) forRun(run int) *recorder.Ranks {
	if r == nil {
		return nil
	}
	return &recorder.Ranks{World: r.s.world, Run: fmt.Sprintf("%s-%d", r.id, run), Plan: r.s.commonPlan(), Barrier: r.barrier()}
}

func (r *rankGroup) barrier() recorder.Barrier {
	if r.session == nil {
		return &ranks.StartAt{At: r.s.startAt}
	}
	return r.session
}

// first reports whether this process does what only one of the ranks should do: reading
// the servers' metrics, and requests between levels.
func (r *rankGroup) first() bool { return r == nil || r.s.world.Rank == 0 }

// note returns a sentence about the figures that rank 0 prints; "" for a process that
// records alone.
func (r *rankGroup) note() string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("the figures are of rank %d's share of the load", r.s.world.Rank)
	if r.session != nil {
		if strangers := r.session.Strangers().String(); strangers != "" {
			text += "; " + strangers
		}
	}
	return text
}

// A rankWriter puts the number of the rank into the messages of a rank.
type rankWriter struct {
	w    io.Writer
	rank int
}

// Write writes one message.
func (w *rankWriter) Write(b []byte) (int, error) {
	const program = "pa-record: "
	if rest, ok := bytes.CutPrefix(b, []byte(program)); ok {
		if _, err := fmt.Fprintf(w.w, "%srank %d: %s", program, w.rank, rest); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	return w.w.Write(b)
}
