package serverstat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// An Asker puts the questions to one server, from one goroutine.
type Asker interface {
	// Protocol is "grpc" or "http".
	Protocol() string
	// Model returns what the configuration of a model says, and the models that
	// an ensemble is made of, with their versions ("" for the latest), in its
	// order. Name and Version are those that were asked for.
	Model(ctx context.Context, name, version string) (m export.ServerModel, steps []ModelRef, err error)
	// Stats returns the counters of each version of a model; of one only, unless
	// version is "".
	Stats(ctx context.Context, name, version string) ([]export.ModelStats, error)
	Close() error
}

// A ModelRef names a model.
type ModelRef struct{ Name, Version string }

// A Clock gives the time of the run in Unix nanoseconds.
type Clock interface{ NowNS() uint64 }

// Config says what to ask of whom.
type Config struct {
	Asker Asker
	// Model is the one that requests go to, and More are others that they go to.
	Model ModelRef
	More  []ModelRef
	// BLS are models that it calls, which no configuration tells.
	BLS []ModelRef
	// Timeout bounds the answers of one edge; 0 means 5 s.
	Timeout time.Duration
	Clock   Clock
}

// Bounds of what is kept.
const (
	maxModels    = 64
	maxSnapshots = 1000 // of a level
	maxErrors    = 8    // of a level
)

// A Collector asks at edges. Its methods are for one goroutine.
type Collector struct {
	cfg    Config
	models []export.ServerModel
	silent bool // the server has not answered in time at this level

	edges   chan question
	done    chan struct{} // the goroutine has ended
	pending sync.WaitGroup

	mu    sync.Mutex
	level export.ServerStats // its Snapshots and Errors
}

type question struct {
	edge   export.StatsEdge
	window int
}

// New returns a Collector, which has a goroutine until Close. Nothing is asked
// before the first Edge.
func New(cfg Config) *Collector {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	r := &Collector{cfg: cfg, edges: make(chan question, 64), done: make(chan struct{})}
	go func() { // ends with Close
		defer close(r.done)
		for q := range r.edges {
			r.ask(q)
			r.pending.Done()
		}
	}()
	return r
}

// Edge asks for the counters, and does not wait for the answer.
func (r *Collector) Edge(edge export.StatsEdge, window int) {
	r.pending.Add(1)
	select {
	case r.edges <- question{edge, window}:
	default:
		r.pending.Done()
		r.fault(errors.New("edges came more quickly than the server answered"))
	}
}

// Wait waits for the answers.
func (r *Collector) Wait() { r.pending.Wait() }

// Level waits for the answers and returns what the level gave.
func (r *Collector) Level() *export.ServerStats {
	r.pending.Wait()
	s := r.level
	r.level = export.ServerStats{}
	s.Protocol, s.Models = r.cfg.Asker.Protocol(), slices.Clone(r.models)
	return &s
}

// Close ends the goroutine and the asker.
func (r *Collector) Close() error {
	close(r.edges)
	<-r.done
	return r.cfg.Asker.Close()
}

// fault keeps an error, each text once.
func (r *Collector) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text := err.Error(); len(r.level.Errors) < maxErrors && !slices.Contains(r.level.Errors, text) {
		r.level.Errors = append(r.level.Errors, text)
	}
}

// ask takes a snapshot.
func (r *Collector) ask(q question) {
	ctx, cancel := context.WithTimeout(context.Background(), r.cfg.Timeout)
	defer cancel()
	if r.models == nil {
		r.models = r.tree(ctx)
	}
	if q.edge == export.EdgeLevel {
		r.silent = false
	}
	if r.silent {
		return
	}
	if len(r.level.Snapshots) == maxSnapshots {
		r.fault(fmt.Errorf("only the first %d snapshots of the level are kept", maxSnapshots))
		return
	}
	s := export.StatsSnapshot{Edge: q.edge, Window: q.window, StartNS: r.cfg.Clock.NowNS()}
	for _, m := range r.models {
		stats, err := r.cfg.Asker.Stats(ctx, m.Name, m.Version)
		if err != nil {
			r.fault(fmt.Errorf("statistics of model %s: %w", m.Name, err))
			continue
		}
		s.Stats = append(s.Stats, stats...)
	}
	s.EndNS = r.cfg.Clock.NowNS()
	if ctx.Err() != nil {
		r.silent = true
		r.fault(fmt.Errorf("no answer within %v; it is not asked again at this level", r.cfg.Timeout))
	}
	if len(s.Stats) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.level.Snapshots = append(r.level.Snapshots, s)
}

// tree returns the models and those that they are made of, depth first, each once.
func (r *Collector) tree(ctx context.Context) []export.ServerModel {
	var all []export.ServerModel
	var add func(ref ModelRef) int
	add = func(ref ModelRef) int {
		for i := range all {
			if all[i].Name == ref.Name && all[i].Version == ref.Version {
				return i
			}
		}
		if len(all) == maxModels {
			r.fault(fmt.Errorf("only the first %d models are looked at", maxModels))
			return -1
		}
		m, steps, err := r.cfg.Asker.Model(ctx, ref.Name, ref.Version)
		if err != nil {
			r.fault(fmt.Errorf("configuration of model %s: %w", ref.Name, err))
			m, steps = export.ServerModel{Name: ref.Name, Version: ref.Version}, nil
		}
		at := len(all)
		all = append(all, m)
		for _, step := range steps {
			if i := add(step); i >= 0 && !slices.Contains(all[at].Composing, i) {
				all[at].Composing = append(all[at].Composing, i)
			}
		}
		return at
	}
	root := add(r.cfg.Model)
	for _, ref := range r.cfg.BLS {
		if i := add(ref); i > 0 {
			all[i].BLS = true
			if !slices.Contains(all[root].Composing, i) {
				all[root].Composing = append(all[root].Composing, i)
			}
		}
	}
	for _, ref := range r.cfg.More {
		if i := add(ref); i > 0 {
			all[i].Asked = true
		}
	}
	return all
}
