package dialect

import (
	"errors"
	"io"
	"strconv"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// A Tokenizer counts tokens. [github.com/pa-tools/pa/pkg/tokenizer.Tokenizer]
// is one.
type Tokenizer interface {
	// Count returns the number of tokens of a text, without the special tokens that a
	// model expects around it.
	Count(text string) int
	// AddSpecial returns ids with the special tokens that a model expects around a text.
	AddSpecial(ids []uint32) []uint32
}

// A Config holds settings from a tool's command line that an export does not
// repeat. With the zero value, the dialect infers everything from the file.
type Config struct {
	// ServiceKind ("openai", "triton", "tensorrtllm_engine", …), Endpoint
	// ("v1/chat/completions") and EndpointType ("chat") describe the server.
	// ServiceKind and Endpoint override the file.
	ServiceKind, Endpoint, EndpointType string
	// Backend is Triton's backend: "vllm" or "tensorrtllm".
	Backend string
	// Streaming reports whether the client asked for streamed answers; nil: not known.
	Streaming *bool
	// Level is the load level to report; the zero value: the tool's default, or
	// the only level.
	Level Level
	// BatchSize is the batch size of Triton's requests; 0: from the file, or 1.
	BatchSize int
	// Percentile is the percentile of latencies to report instead of their mean;
	// -1: the mean, 0: from the file, or the mean.
	Percentile int
	// Verbose and VerboseCSV ask for more on the console and in the CSV file.
	Verbose, VerboseCSV bool
	// Goodput lists the limits that a good request keeps, one for each metric, in the order given.
	Goodput []Limit
	// Tokenizer counts tokens for tools that count with a tokenizer; nil: figures
	// that need one are an error.
	Tokenizer Tokenizer
	// WithoutTokenizer makes GenAI-Perf's report leave out the figures that need a
	// missing Tokenizer, with a warning instead of an error.
	WithoutTokenizer bool
	// TokenizerName is the user's name for the tokenizer, which some tools print;
	// "": not known.
	TokenizerName string
	// FileBytes is the size of the file; 0: not known. Some tools cannot read
	// large files.
	FileBytes int64
	// Memory bounds the memory of values; nil: no bound. It must be open as long as the
	// report is used.
	Memory *Memory
	// Explain makes the report an [explain.Definer], which says why its figures
	// differ from the strict ones. Figures that need a missing Tokenizer are then
	// left out instead of an error.
	Explain bool
	// Args holds further arguments by the tool's own names.
	Args map[string]string

	// brief makes Input.Brief true.
	brief bool
	// strict measures the requests for Explain; nil: the tool's own meter does.
	strict *strictMeter
	// kinds describes the responses for all tools; it is set if strict is.
	kinds *explain.Kinds
	// answers decodes the answers for all tools; nil: the tool decodes them itself.
	answers *answers
	// parts are the parts of requests for all tools; nil: the tool has its own.
	parts *Parts
}

// A Level names an experiment by its mode, such as "concurrency", and its value,
// such as "8", as the export spells them. An empty Mode matches any mode.
type Level struct{ Mode, Value string }

// Matches reports whether l names e. It compares values as numbers: 2.5 equals
// 2.50. Levels of sessions match the name that [export.Experiment.Name] returns, too.
func (l Level) Matches(e *export.Experiment) bool {
	if l.Mode != "" && l.Mode+":"+l.Value == e.Name() {
		return true
	}
	if l.Mode != "" && l.Mode != e.Mode {
		return false
	}
	x, err1 := strconv.ParseFloat(l.Value, 64)
	y, err2 := strconv.ParseFloat(e.Value, 64)
	if err1 != nil || err2 != nil {
		return l.Value == e.Value
	}
	return x == y
}

// A Limit bounds a metric. Metric is the tool's name for it; Value is in the
// metric's unit.
type Limit struct {
	Metric string
	Value  float64
}

// A Report writes the output that a tool would have printed and saved.
type Report interface {
	// Console writes the tool's terminal output for a terminal of width columns.
	Console(w io.Writer, width int) error
	// CSV and JSON write the tool's file of that format; they return ErrNoFormat
	// if the tool writes none.
	CSV(w io.Writer) error
	JSON(w io.Writer) error
	// Warnings returns the caveats that a reader must know to trust the report.
	Warnings() []error
}

var (
	// ErrNoExperiment says that the run has no load level.
	ErrNoExperiment = errors.New("holds no experiment: nothing was measured")
	// ErrNoFormat says that a tool has no report of the format asked for.
	ErrNoFormat = errors.New("the tool writes no such report")
	// ErrNoTokenizer says that the tool counts tokens and Config.Tokenizer is nil.
	ErrNoTokenizer = errors.New("the tool counts tokens with the model's tokenizer, and there is none")
	// ErrNotCounted says that Config.Tokenizer could not count a text.
	ErrNotCounted = errors.New("the tokenizer could not count a text")
)

// A Memory bounds the bytes that the values of requests take in memory while they are
// analyzed. Values beyond the bound go to a temporary file; all figures stay the same. The
// analyses of several tools may share a Memory.
type Memory struct{ store *stat.Store }

// NewMemory returns a Memory of maxBytes; 0 keeps all values in memory. The temporary file
// is created in [os.TempDir] when it is needed.
//
// While AIPerf's figures are computed, sorting takes as many bytes again. Each request takes
// about 100 bytes besides for AIPerf, perf_analyzer and llm_perf together.
func NewMemory(maxBytes int64) *Memory { return &Memory{stat.NewStore(maxBytes, "")} }

// Full returns the error of the temporary file that keeps values in memory beyond
// the bound; nil if there is none.
func (m *Memory) Full() error { return m.store.Full() }

// Close removes the temporary file. Reports of the analyses must not be used any more.
func (m *Memory) Close() error { return m.store.Close() }
