package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A StatisticsClient queries one server. One goroutine at a time uses it.
type StatisticsClient interface {
	// Protocol returns "grpc" or "http".
	Protocol() string
	// Model reads the configuration of a model; the Name and Version of m are the
	// arguments. steps are the models of an ensemble in its order; the Version "" means
	// the latest.
	Model(ctx context.Context, name, version string) (m export.ServerModel, steps []ModelRef, err error)
	// Stats returns the counters of a version of a model, or of all versions for the
	// version "".
	Stats(ctx context.Context, name, version string) ([]export.ModelStats, error)
	Close() error
}

// A ModelRef names a model; the Version "" leaves the choice to the server.
type ModelRef struct{ Name, Version string }

// StatisticsConfig configures Statistics.
type StatisticsConfig struct {
	Client StatisticsClient
	// Model is the first model that requests go to, More the others.
	Model ModelRef
	More  []ModelRef
	// BLS lists the models that Model calls without naming them in its configuration.
	BLS []ModelRef
	// Timeout bounds the queries of one edge; 0 means 5 s.
	Timeout time.Duration
	Clock   Clock
}

// Bounds of the collected data.
const (
	maxModels    = 64
	maxSnapshots = 1000 // per level
	maxErrors    = 8    // per level
)

// Statistics takes a snapshot of the ModelStatistics of a Triton server at each edge. Its methods are for one
// goroutine.
type Statistics struct {
	cfg      StatisticsConfig
	models   []export.ServerModel
	timedOut bool // the server did not answer in time at this level

	edges   chan edge
	done    chan struct{} // closed when the goroutine has ended
	pending sync.WaitGroup

	mu    sync.Mutex
	level export.ServerStats // Snapshots and Errors of the present level
}

// edge is an edge of a level; window is the index of the window that it ends.
type edge struct {
	kind   export.StatsEdge
	window int
}

// NewStatistics returns Statistics with a goroutine, which Close ends. They query
// nothing before the first Edge.
func NewStatistics(cfg StatisticsConfig) *Statistics {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	c := &Statistics{cfg: cfg, edges: make(chan edge, 64), done: make(chan struct{})}
	go func() { // ends with Close
		defer close(c.done)
		for e := range c.edges {
			c.snapshot(e)
			c.pending.Done()
		}
	}()
	return c
}

// Edge requests a snapshot and does not wait for it.
func (c *Statistics) Edge(at export.StatsEdge, window int) {
	c.pending.Add(1)
	select {
	case c.edges <- edge{at, window}:
	default:
		c.pending.Done()
		c.addError(errors.New("statistics were due again before the server had answered; the later ones are missing"))
	}
}

// Wait waits for the requested snapshots.
func (c *Statistics) Wait() { c.pending.Wait() }

// Level waits for the requested snapshots and returns all since the last call.
func (c *Statistics) Level() *export.ServerStats {
	c.pending.Wait()
	s := c.level
	c.level = export.ServerStats{}
	s.Protocol, s.Models = c.cfg.Client.Protocol(), slices.Clone(c.models)
	return &s
}

// Close ends the goroutine and closes the client.
func (c *Statistics) Close() error {
	close(c.edges)
	<-c.done
	return c.cfg.Client.Close()
}

// addError records an error, each text once.
func (c *Statistics) addError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := err.Error(); len(c.level.Errors) < maxErrors && !slices.Contains(c.level.Errors, text) {
		c.level.Errors = append(c.level.Errors, text)
	}
}

// snapshot takes the snapshot of an edge.
func (c *Statistics) snapshot(e edge) {
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Timeout)
	defer cancel()
	if c.models == nil {
		c.models = c.modelTree(ctx)
	}
	if e.kind == export.EdgeLevel {
		c.timedOut = false
	}
	if c.timedOut {
		return
	}
	if len(c.level.Snapshots) == maxSnapshots {
		c.addError(fmt.Errorf("only the first %d snapshots of the level are kept", maxSnapshots))
		return
	}
	s := export.StatsSnapshot{Edge: e.kind, Window: e.window, StartNS: c.cfg.Clock.NowNS()}
	for _, m := range c.models {
		stats, err := c.cfg.Client.Stats(ctx, m.Name, m.Version)
		if err != nil {
			c.addError(fmt.Errorf("statistics of model %s: %w", m.Name, err))
			continue
		}
		s.Stats = append(s.Stats, stats...)
	}
	s.EndNS = c.cfg.Clock.NowNS()
	if ctx.Err() != nil {
		c.timedOut = true
		c.addError(fmt.Errorf("no answer within %v; it is not asked again at this level", c.cfg.Timeout))
	}
	if len(s.Stats) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.level.Snapshots = append(c.level.Snapshots, s)
}

// modelTree returns the models and the models of their ensembles, depth first, each once.
func (c *Statistics) modelTree(ctx context.Context) []export.ServerModel {
	var all []export.ServerModel
	var add func(ref ModelRef) int
	add = func(ref ModelRef) int {
		for i := range all {
			if all[i].Name == ref.Name && all[i].Version == ref.Version {
				return i
			}
		}
		if len(all) == maxModels {
			c.addError(fmt.Errorf("only the first %d models are looked at", maxModels))
			return -1
		}
		m, steps, err := c.cfg.Client.Model(ctx, ref.Name, ref.Version)
		if err != nil {
			c.addError(fmt.Errorf("configuration of model %s: %w", ref.Name, err))
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
	root := add(c.cfg.Model)
	for _, ref := range c.cfg.BLS {
		if i := add(ref); i > 0 {
			all[i].BLS = true
			if !slices.Contains(all[root].Composing, i) {
				all[root].Composing = append(all[root].Composing, i)
			}
		}
	}
	for _, ref := range c.cfg.More {
		if i := add(ref); i > 0 {
			all[i].Asked = true
		}
	}
	return all
}
