//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bareMode as the first argument makes the process the bare client.
const bareMode = "bare"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "loadbench: %v\n", err)
		os.Exit(1)
	}
}

// A suite holds the settings that all sections share.
type suite struct {
	record   string // the pa-record to measure
	analyze  string // the pa-analyze to measure
	dir      string // holds exports
	reps     int
	requests int // requests of the file that the sections on files read, and of each shard
	shards   int // of the section shards
	tokens   int // per request
	rounds   int // requests per stream
	streams  []int
	length   time.Duration // of a recording in the section memory
	soak     time.Duration
	ratios   map[string]float64 // by their names in limits.go
	out      io.Writer
	log      io.Writer
}

// gap is the time between the tokens of a stream.
const gap = 20 * time.Millisecond

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 {
		switch args[0] {
		case bareMode:
			return bareMain(ctx, args[1:], stdout)
		case plainMode:
			return plainMain(ctx, args[1:])
		case writeMode:
			return writeMain(args[1:])
		case usageMode:
			return usageMain(ctx, args[1:], stdout, stderr)
		}
	}
	s := &suite{ratios: map[string]float64{}, out: stdout, log: stderr}
	var sections, streams string
	var check bool
	fs := flag.NewFlagSet("loadbench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.record, "record", "bin/pa-record", "the program to measure")
	fs.StringVar(&s.analyze, "analyze", "bin/pa-analyze", "the program that reads the files")
	fs.IntVar(&s.reps, "reps", 5, "repetitions, of which the median is shown")
	fs.IntVar(&s.requests, "requests", 10_000, "requests of the file that analysis, definitions, columnar and memory read")
	fs.IntVar(&s.shards, "shards", 64, "files of the section shards, each with -requests requests")
	fs.IntVar(&s.tokens, "tokens", 100, "tokens per request, also in that file")
	fs.IntVar(&s.rounds, "rounds", 2, "requests per stream")
	fs.StringVar(&streams, "streams", "64,512,1024", "streams of the sections clock, cpu, rank and memory")
	fs.StringVar(&sections, "sections", "clock,grpc,cpu,schedule", "what to measure: clock, grpc, cpu, rank, schedule, soak, analysis, definitions, columnar, memory, shards")
	fs.DurationVar(&s.length, "length", 10*time.Second, "length of a recording in the section memory")
	fs.BoolVar(&check, "check", false, "fail if a ratio passes its limit")
	fs.DurationVar(&s.soak, "soak", time.Hour, "length of the section soak")
	if err := fs.Parse(args); err != nil {
		return err
	}
	for n := range strings.SplitSeq(streams, ",") {
		k, err := strconv.Atoi(n)
		if err != nil || k < 1 {
			return fmt.Errorf("-streams %s: not a list of positive numbers", streams)
		}
		s.streams = append(s.streams, k)
	}
	dir, err := os.MkdirTemp("", "loadbench")
	if err != nil {
		return err
	}
	s.dir = dir
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	names := strings.Split(sections, ",")
	for _, name := range names {
		section, ok := map[string]func(context.Context) error{
			"clock": s.clock, "grpc": s.grpc, "cpu": s.cpu, "rank": s.rank, "schedule": s.schedule, "soak": s.soakRun,
			"analysis": s.analysis, "definitions": s.definitions, "columnar": s.columnar, "memory": s.memory, "shards": s.ranks,
		}[name]
		if !ok {
			return fmt.Errorf("-sections: no section %q", name)
		}
		if err := section(ctx); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if check {
		return checkLimits(limits, names, s.ratios)
	}
	return nil
}

// median returns the middle value, the lower one of two.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	return s[(len(s)-1)/2]
}

// quantile returns the value of sorted x at rank p·(n−1), p from 0 to 1, rounded down
// without interpolation; 0 if x is empty.
func quantile[T float32 | float64](x []T, p float64) T {
	if len(x) == 0 {
		return 0
	}
	return x[int(p*float64(len(x)-1))]
}

// A figures holds the results of one run of one client.
type figures struct {
	Events int     `json:"events"`
	Shared int     `json:"shared"` // events that arrived in the same read as the previous one
	CPUus  float64 `json:"cpu_us"` // per event, while load was on
	// |recorded − sent| in µs.
	P50, P99, P999, Max float64
	// AloneP99 is the P99 of events that were the last one in their read.
	AloneP99 float64
	// Errors of starts, likewise.
	StartP50, StartP99 float64
	Starts             int
	User               int     // number of stamps that the kernel did not take
	ServerCPUus        float64 // of the server, per event
	Pace               float64 // of OpenAI: tokens per second after the first, median over the answers
	PeakMB             float64 // largest resident set until the end of the load
	// From the end of a request to the start of the next one of its slot, in µs.
	TurnP50, TurnP99 float64
}

// setErrors sets the errors of all events, and of the last event of each read.
func (f *figures) setErrors(us, alone []float64) {
	slices.Sort(us)
	slices.Sort(alone)
	f.P50, f.P99, f.P999, f.Max = quantile(us, 0.5), quantile(us, 0.99), quantile(us, 0.999), quantile(us, 1)
	f.AloneP99 = quantile(alone, 0.99)
}

// of returns the median of one figure over the repetitions.
func of(all []figures, field func(*figures) float64) float64 {
	x := make([]float64, len(all))
	for i := range all {
		x[i] = field(&all[i])
	}
	return median(x)
}

// table prints rows under a header, in markdown.
func (s *suite) table(title string, header []string, rows [][]string) {
	fmt.Fprintf(s.out, "\n%s\n\n| %s |\n|%s\n", title, strings.Join(header, " | "), strings.Repeat("---|", len(header)))
	for _, r := range rows {
		fmt.Fprintf(s.out, "| %s |\n", strings.Join(r, " | "))
	}
}

// note stores a ratio for checkLimits.
func (s *suite) note(name string, ratio float64) { s.ratios[name] = ratio }

func us(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func whole(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func ratio(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

func printJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }
