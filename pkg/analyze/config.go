package analyze

import (
	"cmp"
	"runtime"

	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A Config says how to analyze. The zero value is the strict default.
type Config struct {
	// From is the time at which TTFT, TTFAT and E2EL begin.
	From answer.From
	// TokenSource is the source of the number of output tokens; TokenAuto takes the
	// best one of each request. With another source, a request that lacks it has no
	// number of output tokens.
	TokenSource answer.TokenSource
	// Counter counts tokens of texts; nil means that there is no tokenizer.
	Counter answer.TokenCounter
	// Decode decodes the answer to a request in place of the decoder that Run makes; nil means
	// that decoder. Run then reads one request after the other and calls Decode for each. The
	// answer must have the texts if there is a Counter (see [answer.Decoder]), and must stay
	// valid until the next call.
	Decode func(*export.Request) *answer.Answer
	// Tokenizer describes the Counter for reports; nil if there is none.
	Tokenizer *Tokenizer
	// Streaming says whether answers were streamed; nil leaves that to the file.
	Streaming *bool
	// IncludeWarmup counts successful warm-up requests like measured ones.
	IncludeWarmup bool
	// Selection is the part of each level that counts.
	Selection Selection
	// Windows asks for a table over time.
	Windows Windows
	// SLO is the objective of each request; nil means none.
	SLO *expr.Objective
	// SLOTarget is the share of requests that should meet it, for
	// [Report.MaxLoad]; 0 means 0.99.
	SLOTarget float64
	// Series keeps the requests of each experiment in memory and fills
	// Experiment.Series and Experiment.Steps.
	Series bool
	// Follower gets the requests and the Steps of each level in the order of time, without keeping
	// them as Series does; nil means none.
	Follower Follower
	// Verify computes all figures from the recorded times and answers, and none from the derived
	// values of a file, and compares all derived values with them. Ask for it where an exit code or
	// an acceptance depends on the figures. It takes several times as long. Without it, a sample of
	// the derived values is compared.
	Verify bool
	// Quality asks for [Experiment.Quality]; nil means no.
	Quality *quality.Config
	// Economics asks for [Experiment.Economics]; nil means no.
	Economics *figure.EconomicsConfig
	// Prefix asks for [Experiment.Prefix], Phases for [Experiment.Phases], and Images for [Experiment.Images].
	Prefix, Phases, Images bool
	// Audio asks for [Experiment.Audio]. The requests are then decoded, because columns hold no audio.
	Audio bool
	// Sessions asks for [Experiment.Sessions]; nil means no. The answers to requests fill the prefix cache if there is a Counter,
	// because only then their texts are kept.
	Sessions *figure.SessionsConfig
	// Realtime asks for [Experiment.Realtime]. It needs the answers, so that derived values do not replace them.
	Realtime bool
	// Certified asks for [summary.Summary.Certified] of the metrics of whole levels.
	Certified bool
	// Settling asks for [Experiment.Unsettled].
	Settling bool
	// Observer sees each request and each scrape, and asks for [Experiment.FirstTokens]; nil means
	// none.
	Observer Observer
	// Curve asks for [summary.Summary.Curve] of the metrics of whole levels.
	Curve bool
	// Bounds returns the bounds of a metric for [summary.Summary.AtMost], in ascending order; nil for none. It asks for the counts of
	// whole levels. TPOT has none.
	Bounds func(answer.Metric) []int64
	// MemoryLimit is about the memory that the whole program takes at most, in bytes; 0
	// means DefaultMemoryLimit. Values that do not fit move to a temporary file in
	// [os.TempDir], and percentiles stay exact. So do requests that must be read again when the bounds
	// of their level are known: with Windows, a Follower or a Selection of a part. The limit does not
	// hold with Series.
	MemoryLimit int64
	// ValueMemory is the memory that values take at most before they move to the temporary
	// file, in bytes; 0 means ValueMemory(MemoryLimit). A program that keeps values of its
	// own gives a part of that.
	ValueMemory int64
}

// DefaultMemoryLimit is the default of Config.MemoryLimit. A limit below LeastMemoryLimit
// counts as that. On 16 cores, decoding takes 200 MB whatever the limit is.
const (
	DefaultMemoryLimit = 300e6
	LeastMemoryLimit   = 128e6
)

// The memory of a program that analyzes, beside the values of the metrics: fixedMemory for
// the program and for sorting, and coreMemory for the requests that each core decodes ahead,
// up to mostCores. The values get valueShare of the rest: the garbage collector lets the heap
// grow to twice its content, and each request takes some bytes for good.
const (
	fixedMemory = 60e6
	coreMemory  = 9e6
	mostCores   = 16
	valueShare  = 0.4
	leastValues = 16e6
)

// ValueMemory returns the bytes that values may take before they move to a temporary file if
// the whole program should take about as many bytes as memoryLimit, a Config.MemoryLimit.
func ValueMemory(memoryLimit int64) int64 {
	limit := float64(max(cmp.Or(memoryLimit, DefaultMemoryLimit), LeastMemoryLimit))
	cores := float64(min(runtime.GOMAXPROCS(0), mostCores))
	return int64(max(valueShare*(limit-fixedMemory-coreMemory*cores), leastValues))
}

// defaultSLOTarget is the share of requests that should meet an objective.
const defaultSLOTarget = 0.99

// PerRequest returns the part of c that a [answer.Meter] needs.
func (c *Config) PerRequest() answer.Config {
	hash := ""
	if c.Tokenizer != nil {
		hash = c.Tokenizer.SHA256
	}
	return answer.Config{
		Tokenizer: hash, From: c.From, TokenSource: c.TokenSource, Counter: c.Counter, Streaming: c.Streaming,
		IncludeWarmup: c.IncludeWarmup, WithoutPauses: c.Selection.WithoutPauses,
		Realtime: c.Realtime,
	}
}

// keeps reports whether the requests must be kept until all are read, because the
// bounds of a level are known only then.
func (c *Config) keeps() bool {
	return !c.Selection.wholeLevel() || c.Windows != Windows{} || c.follows()
}

// follows reports whether the requests and steps are wanted in the order of time.
func (c *Config) follows() bool { return c.Series || c.Follower != nil }

// pointShare is the share of the memory for values that kept requests take.
const pointShare = 0.25
