package dialect

import (
	"errors"
	"io"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
)

// A Tokenizer counts tokens. [github.com/pa-tools/pa/pkg/tokenizer.Tokenizer]
// is one.
type Tokenizer interface {
	// Count returns the number of tokens of a text, without those that a model
	// expects around it.
	Count(text string) int
	// AddSpecial puts the tokens around ids that a model expects around a text.
	AddSpecial(ids []uint32) []uint32
}

// A Config is what the command line of a tool said and an export does not
// repeat. The zero value leaves everything to be inferred from the file.
type Config struct {
	// ServiceKind ("openai", "triton", "tensorrtllm_engine", …), Endpoint
	// ("v1/chat/completions") and EndpointType ("chat") say what answered.
	// ServiceKind and Endpoint go before what the file says.
	ServiceKind, Endpoint, EndpointType string
	// Backend is Triton's: "vllm" or "tensorrtllm".
	Backend string
	// Streaming says whether streamed answers were asked for; nil: not known.
	Streaming *bool
	// Level is the load level that is reported; the zero value: as the tool
	// does by default, or the only one.
	Level Level
	// BatchSize is that of Triton's requests; 0: as the file says, or 1.
	BatchSize int
	// Percentile of latencies stands in the place of their mean; -1: the mean, 0:
	// as the file says, or the mean.
	Percentile int
	// Verbose and VerboseCSV ask for more on the console and in the CSV file.
	Verbose, VerboseCSV bool
	// Goodput are the limits that a good request keeps, in the order given.
	Goodput []Limit
	// Tokenizer counts tokens where the tool counted with one; nil: there is
	// none, and what needs it is an error.
	Tokenizer Tokenizer
	// WithoutTokenizer makes GenAI-Perf's report leave out the figures that need a
	// missing Tokenizer, with a warning instead of an error.
	WithoutTokenizer bool
	// TokenizerName is what the user called it, for tools that repeat it; ""
	// where that is not known.
	TokenizerName string
	// FileBytes is the size of the file; 0: not known. There are tools that
	// cannot read large ones.
	FileBytes int64
	// Explain makes the report a [Definer] that knows why it differs from the
	// strict definitions. What needs a Tokenizer that is not there is then
	// missing, and no error.
	Explain bool
	// Args are further arguments by the names the tool has for them.
	Args map[string]string
}

// A Level names an experiment: a mode such as "concurrency" and a value such as
// "8", as they stand in the export. An empty Mode stands for any.
type Level struct{ Mode, Value string }

// Matches reports whether l names e. Values are compared as numbers: 2.5 is
// 2.50.
func (l Level) Matches(e *export.Experiment) bool {
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

// A Limit is a metric in the words of the tool and the value it is held to, in
// its unit.
type Limit struct {
	Metric string
	Value  float64
}

// A Report is what a tool would have printed and written.
type Report interface {
	// Console writes what the tool prints on a console of that many columns.
	Console(w io.Writer, width int) error
	// CSV and JSON write the files of those formats; ErrNoFormat when the tool
	// writes none.
	CSV(w io.Writer) error
	JSON(w io.Writer) error
	// Warnings are what a reader must know to trust the report.
	Warnings() []error
}

var (
	// ErrNoExperiment says that the run has no load level.
	ErrNoExperiment = errors.New("holds no experiment: nothing was measured")
	// ErrNoFormat says that a tool has no report of the format asked for.
	ErrNoFormat = errors.New("the tool writes no such report")
	// ErrNoTokenizer says that tokens are to be counted and Config.Tokenizer is
	// nil.
	ErrNoTokenizer = errors.New("the tool counts tokens with the model's tokenizer, and there is none")
	// ErrNotCounted says that Config.Tokenizer could not count a text.
	ErrNotCounted = errors.New("the tokenizer could not count a text")
)
