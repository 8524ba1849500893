package view

import (
	"cmp"
	"context"
	"errors"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Absent is the value of a field of integers that is not known.
const Absent = -1

// defaultRows is the default of Config.Rows. A run of up to 50,000 requests keeps all of its requests.
const defaultRows = 25_000

// A Config says what to collect. The zero value is the strict default.
type Config struct {
	// Name names the run: a path, or the user's name.
	Name string
	// Analyze says how to analyze, as for a report. Collect sets its Observer, Curve and Settling.
	Analyze analyze.Config
	// Parts are the parts of levels that a picture shows; 0 means all. Levels lack the others.
	Parts Part
	// Rows is the largest number of requests that the waterfall keeps of a run with more than 2·Rows requests.
	// It keeps all requests of a smaller run. 0 means defaultRows.
	Rows int
	// Stalls finds the stalls of requests. The zero value stands for the stalls of
	// [quality.Default].
	Stalls quality.Stalls
}

// A Part is a part of a [Level], or several.
type Part uint8

// The parts of levels. Figures are in the report, and always there.
const (
	PartFigures  Part = 1 << iota
	PartCurves        // Summary.Curve of the Distributions
	PartSeries        // Series
	PartHeatmaps      // GapsByTime and GapsByPosition
	PartPrompts       // Prompts and PromptsLeftOut
	PartRequests      // Requests, LeftOut, Sampling and Lanes
	allParts     = PartRequests<<1 - 1
)

// A Run is a recorded run as pictures show it.
type Run struct {
	Name string
	// Report is the report of the run, as [analyze.Run] returns it.
	Report *analyze.Report
	// OriginNS is the time 0 of all other times, in nanoseconds since 1970: the start of the run that
	// the file states, or the earliest time of a request if that is earlier. It is 0 without both.
	OriginNS uint64
	// Levels are the load levels, in the order of Report.Experiments.
	Levels []Level
	// Telemetry holds the series of servers and GPUs that belong to a figure of the report, in the order in
	// which they appear. A gauge is as recorded, a counter is its growth per second. TelemetryLeftOut counts
	// the series that are left out because their source has more than MostSeries.
	Telemetry        []Series
	TelemetryLeftOut []serverfigures.LeftOut
}

// A Level is a load level as pictures show it.
type Level struct {
	// Experiment holds the figures of the level. It points into Run.Report.
	Experiment *analyze.Experiment
	// FromNS and ToNS are the time from the first request to the end of the last one, of all phases;
	// both are Absent if no request has a time.
	FromNS, ToNS int64
	// Distributions are of TTFT, ITL, TPOT and E2EL, in this order; a metric without values has none.
	Distributions []Distribution
	// Series are over time: see the constants of their keys. A series that cannot be computed is not
	// there, because the requests or the file lack what it needs.
	Series []Series
	// GapsByTime counts the gaps between tokens by the time at which they ended, and GapsByPosition
	// by their position in the answer: the gap between the first and the second token event is at 1.
	// Both are about successful requests; GapsByPosition leaves answers of several choices out. A
	// heat map without gaps is empty.
	GapsByTime, GapsByPosition Heatmap
	// Prompts hold first tokens against prompts, by prompt; PromptsLeftOut counts the requests that
	// are left out.
	Prompts        []Prompt
	PromptsLeftOut int
	// Requests are the rows of the waterfall in the order of their begins: of all phases and outcomes.
	// Failures without a time come last. LeftOut counts the requests that are left out, and Sampling
	// says in a sentence which ones were kept; "" if all were.
	Requests []*Request
	LeftOut  int
	Sampling string
	// Untimed is the reason why nothing over time is known, in a file that does not say when requests
	// were sent: all Requests begin at the same time then. It is "" otherwise.
	Untimed string
	// Timeless counts the requests without any time, or with a damaged time far from the others. Only
	// failures among them are in Requests; the others are not in LeftOut. None is in anything over time.
	Timeless int
	// Lanes is the number of lanes of Requests.
	Lanes int
}

// Keys of the series of a level.
const (
	// InFlight is the number of requests that had been sent and had not ended. It is a step function:
	// a value holds until the next.
	InFlight = "in_flight"
	// OutputTokens is the rate of output tokens. A token event counts for its share of the output tokens
	// of its request; without token events, all come at the end of the request.
	OutputTokens = "output_tokens_per_s"
	// Completed and Failed are the rates of requests that ended well, in any phase, and of failures.
	// Without failures there is no series of them.
	Completed = "requests_per_s"
	Failed    = "failures_per_s"
	// TTFTMedian and TTFTMax are the median and the maximum of the TTFT of the requests that started
	// within the bin; NaN if there was none.
	TTFTMedian = "ttft_p50"
	TTFTMax    = "ttft_max"
)

// A Series is the course of a figure over time.
type Series struct {
	Key    string // of a level: a constant; of telemetry: name and labels of the series
	Label  string // for people
	Unit   string // "ns", "requests", "tokens/s", "requests/s"; "" if not known
	Source string // of telemetry; "" for figures of the recorder
	// Quantity is the report's name for the figure of a series of telemetry, "waiting requests", "KV
	// cache usage", "GPU power", …, and Unit is then the report's unit; "" for figures of the recorder.
	Quantity string
	// BinNS is the width of the bins, which begin at AtNS; 0 if the values are of instants.
	BinNS int64
	AtNS  []int64   // may be shared with other series
	Value []float64 // NaN if absent
	// LeftOut counts the values that are left out. The minimum and the maximum of each stretch of time
	// are always kept.
	LeftOut int
}

// A Heatmap counts values in cells.
type Heatmap struct {
	// X and Y hold the bounds of the columns and of the rows, in ascending order. Column i reaches from
	// X[i] up to, but not including, X[i+1]. X is a time, or a token position. Y is a gap in nanoseconds.
	// The first row of the scale also holds shorter gaps and gaps of 0, the last one longer gaps.
	X, Y []float64
	// Counts holds the columns one after the other, with len(Y)−1 rows each.
	Counts []uint32
	N      int64  // sum
	Most   uint32 // largest count
}

// At returns the count in a column and a row.
func (h *Heatmap) At(column, row int) uint32 { return h.Counts[column*(len(h.Y)-1)+row] }

// A Prompt is the prompt and the first token of a successful request.
type Prompt struct {
	InputTokens int64
	// CachedTokens are the input tokens that the server's prefix cache held; Absent if the server did
	// not state them. A columnar file does not tell 0 from absent: it is Absent then.
	CachedTokens int64
	TTFTNS       int64
}

// Uncached returns the input tokens that the server had to compute. known is false if the cached
// tokens are not known; all input tokens count as uncached then.
func (p *Prompt) Uncached() (tokens int64, known bool) {
	if p.CachedTokens == Absent {
		return p.InputTokens, false
	}
	return p.InputTokens - p.CachedTokens, true
}

// A Request is a row of the waterfall. A time or a number that is not known is Absent.
type Request struct {
	// ID is the number of the request; in a file that numbers none it is the position, from 0.
	ID   uint64
	Rank int
	// Slot is the slot of the closed loop that sent the request. Lane is the row that shows it:
	// requests of a lane do not overlap. A request without a time has the lane Absent.
	Slot, Lane int
	// QueueNS is the time of the schedule, or of the hand-over to the client, and ConnectNS the begin
	// of the name lookup; Absent if the request did not wait or connect. StartNS is the time when the
	// request left, FirstNS and LastTokenNS are of its token events, and EndNS is the end: the
	// last known time.
	QueueNS, ConnectNS, StartNS, FirstNS, LastTokenNS, EndNS int64
	// TTFTNS and E2ELNS are the measures as in the report.
	TTFTNS, E2ELNS                          int64
	InputTokens, CachedTokens, OutputTokens int64
	Turn                                    int
	// Server holds the parts of the TTFT that the answer states: queue, prefill and first decode in ns. A part below 0 is
	// Absent.
	Server [NumServerParts]int64
	*RequestTexts
	// Stalls are the longest stalls in the order of time; StallsLeftOut counts the others.
	Stalls        []Stall
	StallsLeftOut int
}

// NumServerParts is the number of parts of a TTFT at the server.
const NumServerParts = answer.FirstDecodePart - answer.QueuePart + 1

// RequestTexts are the texts of a request. Requests with the same texts may share them.
type RequestTexts struct {
	// Status is "ok", "timeout", …. Excluded is the reason why the request does not count: "failed",
	// "warmup", …; "" if it counts. ErrorClass and Error are the class and the message of a failure.
	Status, Excluded, ErrorClass, Error string
	Model                               string
}

// BeginNS returns the begin of the row: the earliest time of the request.
func (r *Request) BeginNS() int64 {
	for _, t := range [...]int64{r.QueueNS, r.ConnectNS, r.StartNS} {
		if t != Absent {
			return t
		}
	}
	return r.EndNS
}

// A Stall is a gap between token events that is far longer than the others of its answer.
type Stall struct {
	AtNS     int64 // begin
	LengthNS int64
	Position int // of the gap in the answer, from 1
}

// Collect analyzes all requests of r and collects what pictures show.
//
// The Run is never nil and covers the readable part; errors are as of [analyze.Run].
func Collect(ctx context.Context, r export.Reader, cfg Config) (_ *Run, err error) {
	if cfg.Stalls.ThresholdNS == 0 && cfg.Stalls.Factor == 0 {
		usual := quality.Default()
		cfg.Stalls = quality.Stalls{ThresholdNS: usual.StallNS, Factor: usual.StallFactor}
	}
	cfg.Rows, cfg.Parts = cmp.Or(cfg.Rows, defaultRows), cmp.Or(cfg.Parts, allParts)
	memory := cmp.Or(cfg.Analyze.ValueMemory, analyze.ValueMemory(cfg.Analyze.MemoryLimit))
	own := stat.NewStore(memory/memoryShare, "")
	defer func() { err = errors.Join(err, own.Close()) }()
	c := &collector{cfg: cfg, memory: own}
	c.cfg.Analyze.ValueMemory = memory - memory/memoryShare
	c.cfg.Analyze.Observer, c.cfg.Analyze.Curve, c.cfg.Analyze.Settling = c, cfg.Parts&PartCurves != 0, true
	report, err := analyze.Run(ctx, r, c.cfg.Analyze)
	run, err2 := c.finish(report)
	return run, errors.Join(err, err2)
}

// memoryShare is the reciprocal of the part of the memory for values that the starts and ends of
// requests take.
const memoryShare = 8
