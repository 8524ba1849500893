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
	for i := range levels {
		names, cells := s.row(&levels[i])
		if i == 0 {
			p.linef("%s", strings.Join(names, ","))
		}
		p.linef("%s", strings.Join(cells, ","))
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
func (l *Level) first() string {
	if l.Mode == export.ModeConcurrency {
		return "Concurrency"
	}
	return "Request Rate"
}

// serverColumns are the columns of the server's statistics. The last two are of models with a response cache.
var serverColumns = []string{
	"Network+Server Send/Recv", "Server Queue", "Server Compute Input", "Server Compute Infer", "Server Compute Output",
	"Server Cache Hit", "Server Cache Miss",
}

const withoutCache = 5 // columns

// row returns the columns of a level and its cells.
func (s *Settings) row(l *Level) (names, cells []string) {
	add := func(name, cell string) { names, cells = append(names, name), append(cells, cell) }
	sum := &l.Summary
	t, known := pawindow.MeanTimes{}, s.Decoupled // the library measures no decoupled model
	if l.Times != nil && !s.Decoupled {
		t, known = *l.Times, true
	}
	_, send, receive, wait := inUS(&t)
	add(l.first(), l.number())
	add("Inferences/Second", l.rate(l.throughput(s)))
	if s.Decoupled {
		add("Response Throughput", l.rate(sum.PerSecond(sum.Responses)))
	}
	add("Client Send", whole(send, known))
	if !l.NoServer {
		for i, cell := range serverCells(l.Server, sum.Mean-t.Send-t.Receive, known) {
			add(serverColumns[i], cell)
		}
	}
	add("Client Recv", whole(receive, known))
	for _, q := range sum.Percentiles {
		add("p"+strconv.Itoa(q.Pct)+" latency", l.latency(us(q.Latency)))
	}
	if !s.VerboseCSV {
		return names, cells
	}
	if s.Percentile <= 0 {
		add("Avg latency", l.latency(us(sum.Mean)))
	}
	add("request/response", whole(send+receive, known))
	add("response wait", whole(wait, known))
	if g := l.GPUs; g != nil {
		add("Avg GPU Utilization", ofEach(g.Utilization, six))
		add("Avg GPU Power Usage", ofEach(g.Power, six))
		add("Max GPU Memory Usage", ofEach(g.MemoryUsed, bytesOf))
		add("Total GPU Memory", ofEach(g.Memory, bytesOf))
	}
	return names, cells
}

// serverCells returns the cells under serverColumns. between is the mean time between sending and receiving. The part
// that the server's statistics do not contain is the network's and the server's own overhead.
func serverCells(m *Model, between time.Duration, known bool) []string {
	if m == nil {
		return slices.Repeat([]string{absent}, withoutCache)
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

// ofEach returns the values of all GPUs in one cell.
func ofEach(values []GPUValue, format func(float64) string) string {
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
		columns := serverColumns
		if !levels[0].Server.ResponseCache {
			columns = columns[:withoutCache]
		}
		p.linef("%s,Inferences/Second,Client Send,%s,Client Recv", levels[0].first(), strings.Join(columns, ","))
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
