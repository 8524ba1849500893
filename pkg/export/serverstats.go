package export

// ServerStats holds the counters of a Triton server for its models during a load
// level: the answers to ModelStatistics at each edge. It is stored as JSON under
// "server_stats" in the "pa" of an experiment.
//
// The counters of the server never reset. The difference of the snapshots at the two
// edges of a window gives the counts of the window: see [Between]. A
// snapshot is taken right after the edge, while the load goes on. It therefore counts
// the requests that the server had finished by then, and these are not exactly the
// requests that ended in the window for the client.
type ServerStats struct {
	// Protocol is how the server was asked: "grpc" or "http".
	Protocol string `json:"protocol,omitempty"`
	// Models begin with the model that requests went to. The parts of an ensemble or a
	// pipeline follow, each once, depth first. Where requests went to several models,
	// the next one follows in the same way: see [ServerModel.Asked].
	Models []ServerModel `json:"models,omitempty"`
	// Snapshots are in the order of time.
	Snapshots []StatsSnapshot `json:"snapshots,omitempty"`
	// Errors are why snapshots or models are missing, each once.
	Errors []string `json:"errors,omitempty"`
}

// A ServerModel is one of the models whose statistics are kept.
type ServerModel struct {
	Name string `json:"name"`
	// Version is the requested version; "" means all, and the statistics then have an
	// entry for each loaded version.
	Version string `json:"version,omitempty"`
	// Platform is the platform in the model's configuration ("ensemble"), or the
	// model's backend.
	Platform string `json:"platform,omitempty"`
	// Composing holds the indices in ServerStats.Models of the models that get the
	// requests to this one: the steps of an ensemble in order, each model once.
	Composing []int `json:"composing,omitempty"`
	// Asked reports that requests went to the model, besides the first one.
	Asked bool `json:"asked,omitempty"`
	// BLS reports that no configuration names the model, but the user named it as one
	// that the model under test calls (--bls-composing-models).
	BLS bool `json:"bls,omitempty"`
	// ResponseCache reports that the configuration enables the response cache.
	ResponseCache bool `json:"response_cache,omitempty"`
	// DynamicBatching and SequenceBatching name the scheduler.
	DynamicBatching  bool `json:"dynamic_batching,omitempty"`
	SequenceBatching bool `json:"sequence_batching,omitempty"`
	// Decoupled reports that the model answers a request with any number of
	// responses.
	Decoupled    bool  `json:"decoupled,omitempty"`
	MaxBatchSize int64 `json:"max_batch_size,omitempty"`
}

// Ensemble reports whether the model is an ensemble: a pipeline of others that
// does not compute by itself.
func (m *ServerModel) Ensemble() bool { return m.Platform == "ensemble" }

// A StatsEdge is the place in a level at which a snapshot was taken.
type StatsEdge string

// The edges, in the order in which a level meets them. A window's end is the
// next window's beginning.
const (
	// EdgeLevel is the beginning of the level, before any warm-up.
	EdgeLevel StatsEdge = "level"
	// EdgeMeasure is the beginning of the first window.
	EdgeMeasure StatsEdge = "measure"
	// EdgeWindow is the end of a window.
	EdgeWindow StatsEdge = "window"
	// EdgeEnd is the end of the level, when nothing is in flight any more.
	EdgeEnd StatsEdge = "end"
)

// A StatsSnapshot is one answer to ModelStatistics.
type StatsSnapshot struct {
	Edge StatsEdge `json:"edge"`
	// Window is the index of the window that ended, for EdgeWindow: the window
	// from WindowBoundaries[Window] to WindowBoundaries[Window+1].
	Window int `json:"window,omitempty"`
	// StartNS and EndNS are the times of the request for the snapshot and of its
	// answer, on the clock of the run.
	StartNS uint64 `json:"start_ns"`
	EndNS   uint64 `json:"end_ns"`
	// Stats has an entry for each version of each model, in the order of
	// ServerStats.Models. A model that the server did not answer for has none.
	Stats []ModelStats `json:"stats"`
}

// ModelStats are the counters of one version of a model since the server loaded
// it, or the difference of two such counters. Members have Triton's names.
type ModelStats struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// LastInference is when the model was last used, in ms of the Unix epoch.
	LastInference uint64 `json:"last_inference,omitempty"`
	// InferenceCount counts inferences: a request of batch size N is N of them.
	// ExecutionCount counts executions, each of one batch or more.
	InferenceCount uint64         `json:"inference_count"`
	ExecutionCount uint64         `json:"execution_count"`
	InferenceStats InferenceStats `json:"inference_stats"`
	BatchStats     []BatchStats   `json:"batch_stats,omitempty"`
}

// InferenceStats are the times of the requests of a model. Success counts
// requests and the time from their arrival to the end; of these Queue is spent
// waiting, the three of Compute within the model. A request that the response
// cache answers counts in CacheHit, and not in Compute.
type InferenceStats struct {
	Success       CountNS `json:"success"`
	Fail          CountNS `json:"fail"`
	Queue         CountNS `json:"queue"`
	ComputeInput  CountNS `json:"compute_input"`
	ComputeInfer  CountNS `json:"compute_infer"`
	ComputeOutput CountNS `json:"compute_output"`
	CacheHit      CountNS `json:"cache_hit"`
	CacheMiss     CountNS `json:"cache_miss"`
}

// BatchStats are the executions of one batch size. The count of each is the
// number of executions.
type BatchStats struct {
	BatchSize     uint64  `json:"batch_size"`
	ComputeInput  CountNS `json:"compute_input"`
	ComputeInfer  CountNS `json:"compute_infer"`
	ComputeOutput CountNS `json:"compute_output"`
}

// A CountNS is how often something happened and how long that took in all.
type CountNS struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

// MeanNS returns the nanoseconds of one; ok is false when there was none.
func (c CountNS) MeanNS() (ns float64, ok bool) {
	if c.Count == 0 {
		return 0, false
	}
	return float64(c.NS) / float64(c.Count), true
}

// Window returns the snapshots at the edges of window i. begin is the snapshot at the
// end of the window before, or at EdgeMeasure for the first window. A missing snapshot
// is nil.
func (s *ServerStats) Window(i int) (begin, end *StatsSnapshot) {
	for k := range s.Snapshots {
		x := &s.Snapshots[k]
		switch {
		case x.Edge == EdgeMeasure && i == 0, x.Edge == EdgeWindow && x.Window == i-1:
			begin = x
		case x.Edge == EdgeWindow && x.Window == i:
			end = x
		}
	}
	return begin, end
}

// Between returns the growth of the models' counters from one snapshot to another: an
// entry for each version that both have, in the order of end. reset says that a
// counter went back, because the server or a model was started again; the versions
// whose counters went back are left out.
//
// LastInference is taken from end; it is 0 if the model was not used in between.
func Between(begin, end *StatsSnapshot) (delta []ModelStats, reset bool) {
	for i := range end.Stats {
		e := &end.Stats[i]
		b := begin.Stat(e.Name, e.Version)
		if b == nil {
			continue
		}
		d, ok := e.minus(b)
		if !ok {
			reset = true
			continue
		}
		delta = append(delta, d)
	}
	return delta, reset
}

// Stat returns the counters of a version of a model, nil when the snapshot has
// none.
func (s *StatsSnapshot) Stat(name, version string) *ModelStats {
	for i := range s.Stats {
		if s.Stats[i].Name == name && s.Stats[i].Version == version {
			return &s.Stats[i]
		}
	}
	return nil
}

// minus returns what m has counted since b; ok is false when a counter has gone
// back.
func (m *ModelStats) minus(b *ModelStats) (d ModelStats, ok bool) {
	ok = true
	sub := func(x, y uint64) uint64 {
		ok = ok && x >= y
		return x - y
	}
	both := func(x, y CountNS) CountNS { return CountNS{sub(x.Count, y.Count), sub(x.NS, y.NS)} }
	d = ModelStats{
		Name: m.Name, Version: m.Version,
		InferenceCount: sub(m.InferenceCount, b.InferenceCount),
		ExecutionCount: sub(m.ExecutionCount, b.ExecutionCount),
		InferenceStats: InferenceStats{
			Success:       both(m.InferenceStats.Success, b.InferenceStats.Success),
			Fail:          both(m.InferenceStats.Fail, b.InferenceStats.Fail),
			Queue:         both(m.InferenceStats.Queue, b.InferenceStats.Queue),
			ComputeInput:  both(m.InferenceStats.ComputeInput, b.InferenceStats.ComputeInput),
			ComputeInfer:  both(m.InferenceStats.ComputeInfer, b.InferenceStats.ComputeInfer),
			ComputeOutput: both(m.InferenceStats.ComputeOutput, b.InferenceStats.ComputeOutput),
			CacheHit:      both(m.InferenceStats.CacheHit, b.InferenceStats.CacheHit),
			CacheMiss:     both(m.InferenceStats.CacheMiss, b.InferenceStats.CacheMiss),
		},
	}
	if m.LastInference != b.LastInference {
		d.LastInference = m.LastInference
	}
	for i := range m.BatchStats {
		x := m.BatchStats[i]
		for k := range b.BatchStats {
			if y := &b.BatchStats[k]; y.BatchSize == x.BatchSize {
				x.ComputeInput = both(x.ComputeInput, y.ComputeInput)
				x.ComputeInfer = both(x.ComputeInfer, y.ComputeInfer)
				x.ComputeOutput = both(x.ComputeOutput, y.ComputeOutput)
			}
		}
		if x.ComputeInfer.Count > 0 {
			d.BatchStats = append(d.BatchStats, x)
		}
	}
	return d, ok
}
