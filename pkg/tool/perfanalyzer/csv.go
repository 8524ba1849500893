package perfanalyzer

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// WriteCSV writes the file of perf_analyzer's -f: a row for each reported level, by
// increasing throughput. Times are in whole microseconds. Without a level it writes
// nothing.
func (s *Settings) WriteCSV(w io.Writer, levels []Level) error {
	levels = s.ranked(levels)
	if len(levels) == 0 {
		return nil
	}
	p := &printer{}
	p.linef("%s", strings.Join(s.columns(levels), ","))
	for i := range levels {
		p.linef("%s", strings.Join(s.row(&levels[i]), ","))
	}
	return p.flush(w)
}

// ranked returns the reported levels by increasing throughput.
func (s *Settings) ranked(levels []Level) []Level {
	levels = reported(levels)
	slices.SortStableFunc(levels, func(a, b Level) int {
		switch x, y := a.throughput(s), b.throughput(s); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return levels
}

// first returns the name of the first column.
func first(levels []Level) string {
	if levels[0].Mode == export.ModeConcurrency {
		return "Concurrency"
	}
	return "Request Rate"
}

// cache reports whether the file has the columns of the response cache.
func cache(levels []Level) bool { return levels[0].Server != nil && levels[0].Server.ResponseCache }

// gpus reports whether the file has the columns of GPUs.
func (s *Settings) gpus(levels []Level) bool { return s.VerboseCSV && levels[0].GPUs != nil }

func (s *Settings) columns(levels []Level) []string {
	all := []string{first(levels), "Inferences/Second"}
	if s.Decoupled {
		all = append(all, "Response Throughput")
	}
	all = append(all, "Client Send")
	if !levels[0].NoServer {
		all = append(all, serverColumns...)
		if cache(levels) {
			all = append(all, "Server Cache Hit", "Server Cache Miss")
		}
	}
	all = append(all, "Client Recv")
	for _, q := range levels[0].Summary.Percentiles {
		all = append(all, "p"+strconv.Itoa(q.Pct)+" latency")
	}
	if !s.VerboseCSV {
		return all
	}
	if s.Percentile <= 0 {
		all = append(all, "Avg latency")
	}
	all = append(all, "request/response", "response wait")
	if s.gpus(levels) {
		all = append(all, "Avg GPU Utilization", "Avg GPU Power Usage", "Max GPU Memory Usage", "Total GPU Memory")
	}
	return all
}

var serverColumns = []string{
	"Network+Server Send/Recv", "Server Queue", "Server Compute Input", "Server Compute Infer", "Server Compute Output",
}

func (s *Settings) row(l *Level) []string {
	sum := &l.Summary
	row := []string{l.number(), l.rate(l.throughput(s))}
	if s.Decoupled {
		row = append(row, l.rate(sum.PerSecond(sum.Responses)))
	}
	t, known := pawindow.MeanTimes{}, s.Decoupled // the library measures no decoupled model
	if l.Times != nil && !s.Decoupled {
		t, known = *l.Times, true
	}
	_, send, receive, wait := inUS(&t)
	row = append(row, whole(send, known))
	if !l.NoServer {
		row = append(row, serverCells(l.Server, sum.Mean-t.Send-t.Receive, known)...)
	}
	row = append(row, whole(receive, known))
	for _, q := range sum.Percentiles {
		row = append(row, l.latency(us(q.Latency)))
	}
	if !s.VerboseCSV {
		return row
	}
	if s.Percentile <= 0 {
		row = append(row, l.latency(us(sum.Mean)))
	}
	row = append(row, whole(send+receive, known), whole(wait, known))
	if g := l.GPUs; g != nil {
		row = append(row, cells(g.Utilization, six), cells(g.Power, six), cells(g.MemoryUsed, bytesOf), cells(g.Memory, bytesOf))
	}
	return row
}

// serverCells returns the cells under serverColumns and the cache's columns. between is
// the mean time between sending and receiving. The part that the server's statistics
// do not contain is the network's and the server's own overhead.
func serverCells(m *Model, between time.Duration, known bool) []string {
	if m == nil {
		return slices.Repeat([]string{absent}, len(serverColumns))
	}
	st := &m.Stats
	accounted := mean(st.Queue) + mean(compute(st)) + mean(st.CacheHit) + mean(st.CacheMiss)
	network := less(uint64(max(between, 0)), accounted)
	return append([]string{whole(network/1000, known)}, modelCells(m)...)
}

// modelCells returns the times of a model, for all serverColumns but the first.
func modelCells(m *Model) []string {
	st := &m.Stats
	parts := []export.CountNS{st.Queue, st.ComputeInput, st.ComputeInfer, st.ComputeOutput}
	if m.ResponseCache {
		parts = append(parts, st.CacheHit, st.CacheMiss)
	}
	var row []string
	for _, c := range parts {
		row = append(row, whole(mean(c)/1000, true))
	}
	return row
}

// mean returns the mean of c in whole nanoseconds; 0 for an empty CountNS.
func mean(c export.CountNS) uint64 {
	if c.Count == 0 {
		return 0
	}
	return c.NS / c.Count
}

// cells returns the values of all GPUs in one cell.
func cells(values []GPUValue, format func(float64) string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(v.UUID + ":" + format(v.Value) + ";")
	}
	return b.String()
}

// ComposingCSV returns the files that perf_analyzer writes beside the file of -f, one for
// each composing model of the first model. A file's name is a prefix, a dot and the name
// of the file of -f; the result has the prefix and the content.
func (s *Settings) ComposingCSV(levels []Level) []ModelFile {
	levels = s.ranked(levels)
	if len(levels) == 0 || levels[0].Server == nil {
		return nil
	}
	var files []ModelFile
	for _, m := range levels[0].Server.Composing {
		p := &printer{}
		head := append([]string{first(levels), "Inferences/Second", "Client Send"}, serverColumns...)
		if levels[0].Server.ResponseCache {
			head = append(head, "Server Cache Hit", "Server Cache Miss")
		}
		p.linef("%s", strings.Join(append(head, "Client Recv"), ","))
		for i := range levels {
			if row := s.composingRow(&levels[i], &m); row != nil {
				p.linef("%s", strings.Join(row, ","))
			}
		}
		files = append(files, ModelFile{Name: m.Name + "_v" + m.Version, Content: p.b.Bytes()})
	}
	return files
}

// A ModelFile is the CSV file of one model.
type ModelFile struct {
	Name    string
	Content []byte
}

// composingRow returns the row of a composing model in one level; nil if the level has no
// such model. Its throughput is the level's throughput times the ratio of the requests
// that the two models served.
func (s *Settings) composingRow(l *Level, like *Model) []string {
	top := l.Server
	if top == nil {
		return nil
	}
	i := slices.IndexFunc(top.Composing, func(m Model) bool { return m.Name == like.Name && m.Version == like.Version })
	if i < 0 {
		return nil
	}
	m := top.Composing[i]
	m.ResponseCache = top.ResponseCache
	st := &m.Stats
	ratio := 0.0
	if n := top.Success.Count; n > 0 {
		ratio = float64(st.Success.Count) / float64(n)
	}
	accounted := mean(st.Queue) + mean(compute(st)) + mean(st.CacheHit) + mean(st.CacheMiss)
	row := []string{l.number(), six(ratio * l.throughput(s)), "0", whole(less(mean(st.Success), accounted)/1000, true)}
	row = append(row, modelCells(&m)...)
	return append(row, "0")
}
