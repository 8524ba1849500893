package shards

import (
	"context"
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// sourceNames says which telemetry of which rank belongs to the run. A server whose metrics
// several ranks read is kept once, because its figures cover all requests. Tools such as
// nvidia-smi run on several machines under one name; the machine's name is added.
type sourceNames struct {
	// names holds for each shard the name in the run by the name in the shard. A source
	// that is left out has none.
	names []map[string]string
}

// join returns the sources of the run.
func (t *sourceNames) join(all []*rankShard, n *notes) []export.TelemetrySource {
	t.names = make([]map[string]string, len(all))
	type place struct{ source, host string }
	keeper := map[place]int{} // the shard that keeps a source
	hosts := map[string]map[string]bool{}
	for _, s := range all {
		for _, x := range metaOf(s).Telemetry {
			if hosts[x.Source] == nil {
				hosts[x.Source] = map[string]bool{}
			}
			hosts[x.Source][x.Host] = true
		}
	}
	for i, s := range all {
		for _, x := range metaOf(s).Telemetry {
			p := place{x.Source, x.Host}
			if _, known := keeper[p]; !known || x.Scrapes-x.Failed > 0 && noneOf(all[keeper[p]], p.source) {
				keeper[p] = i
			}
		}
	}
	var out []export.TelemetrySource
	for i, s := range all {
		t.names[i] = map[string]string{}
		for _, x := range metaOf(s).Telemetry {
			if k := keeper[place{x.Source, x.Host}]; k != i {
				n.leaveOut(fmt.Sprintf("metrics of %s that further ranks read: rank %d read them too", x.Source, all[k].meta.Rank))
				continue
			}
			name := x.Source
			if len(hosts[x.Source]) > 1 {
				name += " on " + x.Host
			}
			t.names[i][x.Source] = name
			x.Source = name
			out = append(out, x)
		}
	}
	return out
}

// noneOf reports whether a shard has no successful scrape of a source.
func noneOf(s *rankShard, source string) bool {
	for _, x := range metaOf(s).Telemetry {
		if x.Source == source && x.Scrapes-x.Failed > 0 {
			return false
		}
	}
	return true
}

// Scrapes implements [export.Reader]: rank by rank, with the times on rank 0's clock.
func (r *Reader) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	for i, s := range r.shards {
		names := r.sources.names[i]
		if len(names) == 0 {
			continue
		}
		renamed := map[*export.Series]*export.Series{}
		err := s.Reader.Scrapes(ctx, func(x *export.Scrape) error {
			name, ok := names[x.Source]
			if !ok {
				return nil
			}
			y := *x
			y.StartNS, y.EndNS = s.clock.at(x.StartNS), s.clock.at(x.EndNS)
			if name != x.Source {
				y.Source = name
				y.Samples = nil
				for _, v := range x.Samples {
					series := renamed[v.Series]
					if series == nil {
						c := *v.Series
						c.Source = name
						series = &c
						renamed[v.Series] = series
					}
					y.Samples = append(y.Samples, export.Sample{Series: series, Value: v.Value})
				}
			}
			return do(&y)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
