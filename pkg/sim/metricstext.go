package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// metricsType is the content type of the text format of Prometheus.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// A metricsText builds the answer of a metrics endpoint, in the text format of Prometheus.
// The zero value is empty.
type metricsText struct{ b []byte }

// family starts the samples of a metric.
func (t *metricsText) family(name, kind, help string) {
	t.b = append(t.b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n"...)
}

var metricLabelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// metricLabel returns name="value".
func metricLabel(name, value string) string {
	return name + `="` + metricLabelEscaper.Replace(value) + `"`
}

// sample adds a sample. labels holds results of metricLabel, joined by commas.
func (t *metricsText) sample(name, labels string, v float64) {
	t.b = append(t.b, name+"{"+labels+"} "...)
	t.b = append(strconv.AppendFloat(t.b, v, 'g', -1, 64), '\n')
}

// serveMetrics returns a handler that answers with the output of write.
func serveMetrics(write func(*metricsText)) http.HandlerFunc {
	return allowMethod(http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
		var t metricsText
		write(&t)
		w.Header().Set("Content-Type", metricsType)
		w.Header().Set("Content-Length", strconv.Itoa(len(t.b)))
		_, _ = w.Write(t.b) // the client may be gone
	})
}

// A durationHistogram counts durations. Its sum is exact, in whole nanoseconds; an int64
// holds 292 years of them.
type durationHistogram struct {
	bounds []time.Duration // upper bounds of the buckets, increasing
	counts []uint64        // counts of the buckets; the last is above all bounds
	sum    time.Duration
	n      uint64
}

func newDurationHistogram(bounds []time.Duration) durationHistogram {
	return durationHistogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *durationHistogram) observe(d time.Duration) {
	i := 0
	for i < len(h.bounds) && d > h.bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += d
	h.n++
}

// write adds the samples, in seconds.
func (h *durationHistogram) write(t *metricsText, name, labels string) {
	below := uint64(0)
	for i, bound := range h.bounds {
		below += h.counts[i]
		t.sample(name+"_bucket", labels+","+metricLabel("le", strconv.FormatFloat(bound.Seconds(), 'g', -1, 64)), float64(below))
	}
	t.sample(name+"_bucket", labels+`,le="+Inf"`, float64(h.n))
	t.sample(name+"_count", labels, float64(h.n))
	t.sample(name+"_sum", labels, h.sum.Seconds())
}
