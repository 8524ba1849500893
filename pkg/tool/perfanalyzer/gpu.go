package perfanalyzer

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Metrics of a Triton server that perf_analyzer reads, all with a gpu_uuid.
const (
	gpuUtilization = "nv_gpu_utilization"
	gpuPower       = "nv_gpu_power_usage"
	gpuMemoryUsed  = "nv_gpu_memory_used_bytes"
	gpuMemory      = "nv_gpu_memory_total_bytes"
)

// OnlyGPUs returns the part of a scrape that a [GPUWatch] uses; nil if it is empty.
func OnlyGPUs(s *export.Scrape) *export.Scrape {
	if s.Error != "" {
		return nil
	}
	var samples []export.Sample
	for _, x := range s.Samples {
		switch x.Series.Name {
		case gpuUtilization, gpuPower, gpuMemoryUsed, gpuMemory:
			samples = append(samples, x)
		}
	}
	if samples == nil {
		return nil
	}
	return &export.Scrape{Source: s.Source, StartNS: s.StartNS, EndNS: s.EndNS, Samples: samples}
}

// A GPUWatch sums up the GPU metrics of a Triton server in the reported windows of
// a level. Each scrape that ended in the windows counts once. perf_analyzer reads no
// other sources.
type GPUWatch struct {
	window            pawindow.Window
	utilization       map[string]*gpuMean // by UUID
	power             map[string]*gpuMean
	mostUsed, atFirst map[string]float64 // bytes
}

type gpuMean struct {
	sum float64
	n   int
}

// NewGPUWatch returns a GPUWatch of a window, which reaches from the beginning of
// the first reported window to the end of the last.
func NewGPUWatch(w pawindow.Window) *GPUWatch {
	return &GPUWatch{
		window: w, utilization: map[string]*gpuMean{}, power: map[string]*gpuMean{},
		mostUsed: map[string]float64{}, atFirst: map[string]float64{},
	}
}

// Add adds a scrape, which counts if it ended in the window.
func (w *GPUWatch) Add(s *export.Scrape) {
	if s.Error != "" || s.EndNS < w.window.StartNS || s.EndNS > w.window.EndNS {
		return
	}
	for i := range s.Samples {
		x := &s.Samples[i]
		uuid := x.Series.Label("gpu_uuid")
		if uuid == "" || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) {
			continue
		}
		mean := func(means map[string]*gpuMean) {
			if means[uuid] == nil {
				means[uuid] = &gpuMean{}
			}
			means[uuid].sum += x.Value
			means[uuid].n++
		}
		switch x.Series.Name {
		case gpuUtilization:
			mean(w.utilization)
		case gpuPower:
			mean(w.power)
		case gpuMemoryUsed:
			w.mostUsed[uuid] = max(w.mostUsed[uuid], math.Trunc(x.Value))
		case gpuMemory:
			if _, there := w.atFirst[uuid]; !there {
				w.atFirst[uuid] = math.Trunc(x.Value)
			}
		}
	}
}

// GPUs returns the values of each GPU, by UUID in ascending order.
func (w *GPUWatch) GPUs() *GPUs {
	means := func(sums map[string]*gpuMean) (all []GPUValue) {
		for _, uuid := range slices.Sorted(maps.Keys(sums)) {
			all = append(all, GPUValue{uuid, sums[uuid].sum / float64(sums[uuid].n)})
		}
		return all
	}
	values := func(byUUID map[string]float64) (all []GPUValue) {
		for _, uuid := range slices.Sorted(maps.Keys(byUUID)) {
			all = append(all, GPUValue{uuid, byUUID[uuid]})
		}
		return all
	}
	return &GPUs{Utilization: means(w.utilization), Power: means(w.power), MemoryUsed: values(w.mostUsed), Memory: values(w.atFirst)}
}

// askedForMetrics reports whether the run collected metrics of a Triton server, the
// only kind that perf_analyzer reads.
func (c *collector) askedForMetrics() bool {
	m := c.run.Meta
	return m != nil && !c.settings.openAI() && slices.ContainsFunc(m.Telemetry, func(s export.TelemetrySource) bool {
		return s.Kind == export.TelemetryPrometheus
	})
}

// ReadScrapes reads the telemetry of the levels. It comes after the requests,
// because it needs the windows.
func (c *collector) ReadScrapes(ctx context.Context, r export.Reader) error {
	if !c.askedForMetrics() {
		return nil
	}
	for i := range c.levels {
		l := &c.levels[i]
		first, last := max(len(l.windows)-pawindow.StableOver, 0), len(l.windows)-1
		l.gpus = NewGPUWatch(pawindow.Window{StartNS: l.windows[first].StartNS, EndNS: l.windows[last].EndNS})
	}
	return r.Scrapes(ctx, func(s *export.Scrape) error {
		for i := range c.levels {
			c.levels[i].gpus.Add(s)
		}
		return nil
	})
}
