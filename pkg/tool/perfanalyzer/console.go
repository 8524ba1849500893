package perfanalyzer

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// Percentages above which perf_analyzer warns.
const (
	delayedWarning  = 1.0
	overheadWarning = 50.0
)

// WriteLevel writes the text that perf_analyzer prints during and after a level.
func (s *Settings) WriteLevel(w io.Writer, l *Level) error {
	p := &printer{}
	s.writeHead(p, l)
	if s.Verbose {
		for i := range l.Windows {
			s.writePass(p, i+1, l, &l.Windows[i])
		}
	}
	if l.Unreported || l.Summary.Requests == 0 {
		return p.flush(w)
	}
	p.linef("  Client: ")
	s.writeClient(p, l)
	switch {
	case l.NoServer:
	case l.Servers != nil:
		for i := range l.Servers {
			p.linef("  Server, model %s: ", l.Servers[i].Name)
			s.writeServer(p, &l.Servers[i])
		}
	default:
		p.linef("  Server: ")
		s.writeServer(p, l.Server)
	}
	if l.GPUs != nil {
		p.linef("  Server Prometheus Metrics: ")
		l.GPUs.write(p)
	}
	if l.OverheadPct != nil && *l.OverheadPct > overheadWarning {
		p.linef("[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.")
	}
	return p.flush(w)
}

// writeHead writes the line that names the level. perf_analyzer also writes one for the
// warm-up of a concurrency, with a concurrency of at most the number of warm-up requests.
func (s *Settings) writeHead(p *printer, l *Level) {
	switch {
	case l.Name != "":
		p.linef("%s", l.Name)
	case l.Unnamed:
	case l.Mode == export.ModeConcurrency:
		if s.Warmup > 0 && !s.release().rules.total {
			p.linef("Request concurrency: %s", six(min(l.Value, float64(s.Warmup))))
		}
		p.linef("Request concurrency: %s", six(l.Value))
	case s.release().rules.perSeconds:
		p.linef("Request Rate: %s inference requests per seconds", six(l.Value))
	default:
		p.linef("Request Rate: %s inference requests per second", six(l.Value))
	}
}

// writePass writes the figures of a window.
func (s *Settings) writePass(p *printer, number int, l *Level, w *pawindow.Summary) {
	if w.Requests == 0 {
		p.linef("  Pass [%d] cb::Error: No valid requests recorded within time interval. Please use a larger time window.", number)
		return
	}
	rate := l.rate(w.PerSecond(w.Requests * max(s.BatchSize, 1)))
	if s.Percentile > 0 {
		p.linef("  Pass [%d] throughput: %s infer/sec. p%d latency: %s usec", number, rate, s.Percentile, l.latency(us(w.Typical(s.Percentile))))
		return
	}
	p.linef("  Pass [%d] throughput: %s infer/sec. Avg latency: %s usec (std %s usec). ", number, rate, l.latency(us(w.Mean)), l.latency(w.StdDevUS))
}

func us(d time.Duration) uint64 { return uint64(d / time.Microsecond) }

// writeClient writes the client's figures of a level.
func (s *Settings) writeClient(p *printer, l *Level) {
	sum := &l.Summary
	p.linef("    Request count: %d", sum.Requests)
	for _, n := range l.Notes {
		p.linef("    %s", n)
	}
	if pct := l.delayedPct(); pct > delayedWarning {
		p.linef("    Avg send request rate: %.2f infer/sec", l.SentPerSecond)
		p.linef("    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. %.2f%% of the requests were delayed. ", pct)
	}
	if l.Sequences {
		p.linef("    Sequence count: %d (%s seq/sec)", sum.Sequences, l.rate(sum.PerSecond(sum.Sequences)))
	}
	p.linef("    Throughput: %s infer/sec", l.rate(l.throughput(s)))
	if s.Decoupled {
		p.linef("    Response Throughput: %s infer/sec", l.rate(sum.PerSecond(sum.Responses)))
	}
	if s.Verbose {
		overhead := absent
		if l.OverheadPct != nil {
			overhead = fmt.Sprintf("%.2f", *l.OverheadPct)
		}
		p.linef("    Avg client overhead: %s%%", overhead)
	}
	if s.Percentile <= 0 {
		p.linef("    Avg latency: %s usec (standard deviation %s usec)", l.latency(us(sum.Mean)), l.latency(sum.StdDevUS))
	}
	for _, q := range sum.Percentiles {
		p.linef("    p%d latency: %s usec", q.Pct, l.latency(us(q.Latency)))
	}
	p.linef("    %s", s.library(l.Times))
}

// library returns the times that the client library measures; a decoupled model has
// none.
func (s *Settings) library(t *pawindow.MeanTimes) string {
	if s.Decoupled {
		return ""
	}
	request, both, wait, send, receive := absent, absent, absent, absent, absent
	if t != nil {
		r, first, last, between := inUS(t)
		request, send, receive, wait = whole(r, true), whole(first, true), whole(last, true), whole(between, true)
		both = whole(first+last, true)
	}
	switch grpc := s.Protocol == "grpc"; {
	case s.Protocol == "" && !s.openAI():
		return "Avg HTTP or gRPC time: " + absent
	case grpc && s.Verbose:
		return fmt.Sprintf("Avg gRPC time: %s usec (marshal %s usec + response wait %s usec + unmarshal %s usec)", request, send, wait, receive)
	case grpc:
		return fmt.Sprintf("Avg gRPC time: %s usec ((un)marshal request/response %s usec + response wait %s usec)", request, both, wait)
	case s.Verbose:
		return fmt.Sprintf("Avg HTTP time: %s usec (send %s usec + response wait %s usec + receive %s usec)", request, send, wait, receive)
	}
	return fmt.Sprintf("Avg HTTP time: %s usec (send/recv %s usec + response wait %s usec)", request, both, wait)
}

// WriteSummary writes a line for each reported level; without one it writes nothing.
func (s *Settings) WriteSummary(w io.Writer, levels []Level) error {
	levels = reported(levels)
	if len(levels) == 0 {
		return nil
	}
	p := &printer{}
	p.linef("%s", s.SummaryHead())
	for i := range levels {
		p.linef("%s, %s", levels[i].SummaryName(), s.SummaryLine(&levels[i]))
	}
	return p.flush(w)
}

// SummaryHead returns the line above the lines of the levels.
func (s *Settings) SummaryHead() string {
	if s.Percentile > 0 {
		return fmt.Sprintf("Inferences/Second vs. Client p%d Batch Latency", s.Percentile)
	}
	return "Inferences/Second vs. Client Average Batch Latency"
}

// SummaryName returns the name of the level in its line of the summary.
func (l *Level) SummaryName() string {
	switch {
	case l.Name != "":
		return l.Name
	case l.Mode == export.ModeConcurrency:
		return "Concurrency: " + l.number()
	}
	return "Request Rate: " + l.number()
}

// SummaryLine returns the figures of a level in its line of the summary.
func (s *Settings) SummaryLine(l *Level) string {
	return fmt.Sprintf("throughput: %s infer/sec, latency %s usec", l.rate(l.throughput(s)), l.latency(us(l.Summary.Typical(s.Percentile))))
}

// reported returns the levels that perf_analyzer reports.
func reported(levels []Level) []Level {
	var all []Level
	for i := range levels {
		if !levels[i].Unreported && levels[i].Summary.Requests > 0 {
			all = append(all, levels[i])
		}
	}
	return all
}

// mostGPUs is the number of GPUs that the console shows.
const mostGPUs = 16

// write writes the metrics of the GPUs.
func (g *GPUs) write(p *printer) {
	for _, list := range [...][]GPUValue{g.Utilization, g.Power, g.MemoryUsed, g.Memory} {
		if len(list) > mostGPUs {
			p.linef("Too many GPUs on system to print out individual Prometheus metrics, use the CSV output feature to see metrics.")
			return
		}
	}
	for _, section := range [...]struct {
		head, unit string
		values     []GPUValue
		format     func(float64) string
	}{
		{"Avg GPU Utilization", "%", g.Utilization, func(x float64) string { return six(x * 100) }},
		{"Avg GPU Power Usage", " watts", g.Power, six},
		{"Max GPU Memory Usage", " bytes", g.MemoryUsed, bytesOf},
		{"Total GPU Memory", " bytes", g.Memory, bytesOf},
	} {
		p.linef("    %s:", section.head)
		for _, v := range section.values {
			p.linef("      %s : %s%s", v.UUID, section.format(v.Value), section.unit)
		}
	}
}

func bytesOf(x float64) string { return strconv.FormatFloat(math.Trunc(x), 'f', 0, 64) }

// absent is printed for an unknown number.
const absent = "n/a"

// A printer collects lines, so that a report is one write.
type printer struct{ b bytes.Buffer }

func (p *printer) linef(format string, args ...any) {
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

func (p *printer) flush(w io.Writer) error {
	_, err := w.Write(p.b.Bytes())
	return err
}

// six formats with six significant digits, as a C++ stream does by default.
func six(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// rate formats requests or the like per second.
func (l *Level) rate(perSecond float64) string {
	if l.NoRate != "" {
		return absent
	}
	return six(perSecond)
}

// latency formats microseconds.
func (l *Level) latency(us uint64) string { return whole(us, l.NoLatency == "") }

// whole formats a number that may be unknown.
func whole(n uint64, known bool) string {
	if !known {
		return absent
	}
	return strconv.FormatUint(n, 10)
}
