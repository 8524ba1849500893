//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// modes are what the process does instead, by its first argument.
var modes = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) error{
	bareMode: bareMain, plainMode: plainMain, writeMode: writeMain, usageMode: usageMain,
}

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
	self     string // this program, for its other modes
	dir      string // holds exports
	reps     int
	requests int // requests of the file that the sections on files read, and of each shard
	shards   int // of the section shards
	tokens   int // per request
	rounds   int // requests per stream
	streams  []int
	length   time.Duration // of a recording in the section memory
	peers    []string      // programs that the section peers compares with
	vocab    string        // folder of the tokenizer that they load
	soak     time.Duration
	section  string // that is measured now
	held     []held
	out      io.Writer
	log      io.Writer
}

// gap is the time between the tokens of a stream.
const gap = 20 * time.Millisecond

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && modes[args[0]] != nil {
		return modes[args[0]](ctx, args[1:], stdout, stderr)
	}
	s := &suite{out: stdout, log: stderr}
	var sections, streams, peers string
	var check bool
	fs := flag.NewFlagSet("loadbench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&s.record, "record", "bin/pa-record", "the program to measure")
	fs.StringVar(&s.analyze, "analyze", "bin/pa-analyze", "the program that reads the files")
	fs.IntVar(&s.reps, "reps", 5, "repetitions; the median is shown")
	fs.IntVar(&s.requests, "requests", 10_000, "requests of the file that analysis, definitions, columnar and memory read")
	fs.IntVar(&s.shards, "shards", 64, "files of the section shards, each with -requests requests")
	fs.IntVar(&s.tokens, "tokens", 100, "tokens per request, also in that file")
	fs.IntVar(&s.rounds, "rounds", 2, "requests per stream")
	fs.StringVar(&streams, "streams", "64,512,1024", "streams of the sections clock, cpu, rank and memory")
	fs.StringVar(&sections, "sections", "clock,grpc,cpu,schedule", "what to measure: clock, grpc, cpu, rank, schedule, soak, analysis, definitions, columnar, memory, shards, peers")
	fs.DurationVar(&s.length, "length", 16*time.Second, "length of a recording in the section memory; an answer takes 4 s")
	fs.StringVar(&peers, "peers", "", "other tools' programs of the section peers, as realservers/peers/install.sh prints their paths")
	fs.StringVar(&s.vocab, "tokenizer", "pkg/tokenizer/builtin", "folder of the tokenizer that they load")
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
	s.peers = strings.Fields(peers)
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "loadbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.dir)) }()
	for s.section = range strings.SplitSeq(sections, ",") {
		measure, ok := map[string]func(context.Context) error{
			"clock": s.clock, "grpc": s.grpc, "cpu": s.cpu, "rank": s.rank, "schedule": s.schedule, "soak": s.soakRun,
			"analysis": s.analysis, "definitions": s.definitions, "columnar": s.columnar, "memory": s.memory, "shards": s.ranks,
			"peers": s.comparePeers,
		}[s.section]
		if !ok {
			return fmt.Errorf("-sections: no section %q", s.section)
		}
		if err := measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.section, err)
		}
	}
	if check {
		return s.check()
	}
	return nil
}
