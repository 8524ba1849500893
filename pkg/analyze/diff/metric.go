package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/inference"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Metric is a statistic of one quantity.
type Metric struct {
	Key  string // "ttft_p99"
	Name string // for people: "TTFT p99"
	Unit string // Nanoseconds, PerSecond, Share or Ratio
	// Primary metrics have a verdict unless [Options] name others; the others are
	// descriptive.
	Primary   bool
	Direction inference.Direction
	// Quality metrics have values only in runs that were read with Config.Quality.
	Quality bool

	of quantity
	// pct is the percentile, 0 for the mean.
	pct float64
}

// The units of metrics, as JSON names them.
const (
	Nanoseconds = "ns"
	PerSecond   = "1/s"
	Share       = "share" // from 0 to 1
	Ratio       = "ratio"
)

// A quantity is a measure; a Metric is a statistic of it.
type quantity uint8

const (
	ttft quantity = iota
	itl
	tpot
	e2el
	itlPerToken
	normalizedLatency
	readerIdle
	outputRate
	requestRate
	failedShare
	fluidityIndex
	fluidTokenRate
	tokensInTime
	smoothGoodput
	stalledShare
	stallShare
	tokensPerEvent
	interactivity
	quantities

	seriesQuantities = readerIdle + 1 // quantities below it have series
)

// measures holds the metric of each quantity with a series.
var measures = [seriesQuantities]answer.Metric{ttft: answer.TTFT, itl: answer.ITL, tpot: answer.TPOT, e2el: answer.E2EL, itlPerToken: answer.ITLPerToken, normalizedLatency: answer.NormalizedLatency, readerIdle: answer.ReaderIdle}

// Metrics holds all compared metrics, in the order of reports.
var Metrics = [...]*Metric{
	primary(latency(ttft, 50)),
	latency(ttft, 90),
	latency(ttft, 99),
	latency(ttft, 0),
	latency(itl, 50),
	latency(itl, 99),
	latency(itl, 0),
	primary(latency(tpot, 50)),
	primary(latency(e2el, 50)),
	latency(e2el, 99),
	latency(e2el, 0),
	primary(&Metric{Key: "output_tokens_per_s", Name: "output tokens/s", Unit: PerSecond, Direction: inference.HigherIsBetter, of: outputRate}),
	{Key: "requests_per_s", Name: "requests/s", Unit: PerSecond, Direction: inference.HigherIsBetter, of: requestRate},
	primary(&Metric{Key: KeyFailedShare, Name: "failed", Unit: Share, Direction: inference.LowerIsBetter, of: failedShare}),
	ofFigure("fluidity_index", "fluidity index", Share, inference.HigherIsBetter, fluidityIndex),
	ofFigure("fluid_tokens_per_s", "fluid token rate", PerSecond, inference.HigherIsBetter, fluidTokenRate),
	ofFigure("tokens_in_time", "tokens in time", Share, inference.HigherIsBetter, tokensInTime),
	ofFigure("smooth_tokens_per_s", "smooth goodput", PerSecond, inference.HigherIsBetter, smoothGoodput),
	ofQuality(latency(readerIdle, 0)),
	ofFigure("stalled_share", "stalled", Share, inference.LowerIsBetter, stalledShare),
	ofFigure("stall_share", "stall share", Share, inference.LowerIsBetter, stallShare),
	ofFigure("tokens_per_event", "tokens per event", Ratio, inference.NoDirection, tokensPerEvent),
	ofQuality(latency(itlPerToken, 50)),
	ofQuality(latency(itlPerToken, 99)),
	ofQuality(latency(normalizedLatency, 50)),
	ofQuality(latency(normalizedLatency, 90)),
	ofFigure("interactivity_p90", "interactivity p90", PerSecond, inference.HigherIsBetter, interactivity),
}

// KeyFailedShare is the key of the share of failed requests.
const KeyFailedShare = "failed_share"

// e2elMean is the key of the mean end-to-end latency.
const e2elMean = "e2el_mean"

// IsRate reports whether the metric is a rate.
func (m *Metric) IsRate() bool { return m.of == outputRate || m.of == requestRate }

// ofRequest reports whether the metric is the time of a whole request.
func (m *Metric) ofRequest() bool { return m.of == e2el || m.of == readerIdle }

// latency returns the metric of a percentile of q; of the mean for 0.
func latency(q quantity, pct float64) *Metric {
	statistic := "mean"
	if pct > 0 {
		statistic = report.PercentileName(pct)
	}
	m := measures[q]
	return &Metric{Key: m.String() + "_" + statistic, Name: m.Label() + " " + statistic, Unit: Nanoseconds, Direction: inference.LowerIsBetter, of: q, pct: pct}
}

func primary(m *Metric) *Metric {
	m.Primary = true
	return m
}

// judges reports whether the metric has a verdict.
func (o *Options) judges(m *Metric) bool {
	if o.Primary == nil {
		return m.Primary
	}
	return slices.Contains(o.Primary, m.Key)
}

// judgedByMean reports whether a comparison of single runs judges the mean in place of the median, and the
// metric is one of these two.
func (m *Metric) judgedByMean() bool {
	return (m.of == ttft || m.of == e2el) && (m.pct == 0 || m.pct == 50)
}

// Judged reports whether a comparison judges a metric of latencies or rates by default: of several runs, or of
// single runs whose requests are not paired.
func Judged(m *Metric, single bool) bool {
	switch {
	case m.of == failedShare || single && m.IsRate():
		return false
	case single && m.judgedByMean():
		return m.pct == 0
	}
	return m.Primary
}

// CheckPrimary returns an error that lists all metrics if one of the keys is none. quality says
// whether the runs are read with the metrics of quality.
func CheckPrimary(keys []string, quality bool) error {
	var known []string
	for _, m := range Metrics {
		if quality || !m.Quality {
			known = append(known, m.Key)
		}
	}
	for _, k := range keys {
		if slices.Contains(known, k) {
			continue
		}
		if slices.ContainsFunc(Metrics[:], func(m *Metric) bool { return m.Key == k }) {
			return fmt.Errorf("%q is a metric of quality; add --metrics quality", k)
		}
		return fmt.Errorf("%q is not a metric; give some of %s", k, strings.Join(known, ", "))
	}
	return nil
}

// ParseGate reads a condition on a comparison with these options: see the package comment.
func (o *Options) ParseGate(text string) (*GateExpr, error) {
	var metrics []Metric
	for _, m := range Metrics {
		if m.Quality && !o.Quality {
			continue
		}
		judged := *m
		judged.Primary = o.judges(m)
		metrics = append(metrics, judged)
	}
	return parseGate(text, metrics, o.Sides.old(), o.Sides.new())
}
