package dialect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// A Tool is one dialect: one release of one tool. Everything that a command must know
// of a tool is a field here, so that commands name no tool.
type Tool struct {
	// Name is the name on the command line: "genai-perf-25.08".
	Name string
	// Family is the name without the release: "genai-perf". Hints of a file are for all
	// tools of a family.
	Family string
	// Listed is the text for this tool in lists of tools; "" leaves it out, as an alias.
	Listed string
	// Options are the command-line flags that only some tools take and this one does:
	// "backend", "percentile", …
	Options []string
	// NoArgs says that the tool has no arguments for Config.Args.
	NoArgs bool
	// SkipsTokenizer says that the tool counts no tokens.
	SkipsTokenizer bool
	// Transformers is the major release of the transformers library that the tool counts
	// tokens with; 0 means 4. Release 5 reads some tokenizers by rules of its own (see
	// package tokenizer). The release follows from what each tool requires:
	//
	//	genai-perf-*     any release; 5.0 appeared after the last GenAI-Perf: 4
	//	llm_perf-*       any release, scripts of September 2024: 4
	//	trtllm-*         TensorRT-LLM 1.0 to 1.2 require 4.53 to 4.57: 4
	//	vllm             vllm 0.33.0 requires >=5.16.1,<5.21: 5
	//	sglang           sglang 0.5.23 requires 5.19.0: 5
	//	inference-perf   inference-perf 0.7.0 requires 5.13.0: 5
	//	aiperf           aiperf 0.13.0 requires >=4.56; its recorded runs counted as 4 does: 4
	Transformers int
	// Compared is the rank of the tool in tables of definitions: 1, or more for tools with
	// few of the measures, which come later. 0 leaves the tool out.
	Compared int

	// Levels says which load levels the tool reports.
	Levels LevelRule
	// New starts the analysis of a run; nil: the tool prints no report. An error may be
	// an *ArgError.
	New func(Input) (Analysis, error)
	// Result writes the tool's result file; nil: the tool keeps none.
	Result *ResultFile
}

// ReleaseName returns the name of release i of n, from old to new: the name of the family for
// the newest, with the version appended for an earlier one.
func ReleaseName(family, version string, i, n int) string {
	if i == n-1 {
		return family
	}
	return family + "-" + version
}

// LanguageOptions are the Tool.Options of tools that measure language models.
func LanguageOptions() []string {
	return []string{"endpoint", "endpoint-type", "backend", "goodput", "tokenizer"}
}

// Input is what Analyze gives to Tool.New.
type Input struct {
	// Config holds the user's settings. If Config.Explain is set, its Tokenizer is never
	// nil: see Uncounted.
	Config
	Run *export.Run
	// Levels are the indices of the experiments to report, ascending, at least one.
	Levels []int
	// Uncounted reports whether Config.Tokenizer replaces a missing one and counts 0.
	Uncounted bool
	// Special is the number of tokens that the tokenizer adds around a text.
	Special int
	// Explainer is nil unless Config.Explain is set.
	Explainer *explain.Explainer
	// Values keeps the values of requests.
	Values *stat.Store
	// Brief says that only the definitions of the report are wanted, so that it need not have what they
	// do not show.
	Brief bool
	// Parts gives parts of requests.
	Parts *Parts
}

// An Analysis measures the requests of one run. Analyze calls Begin, Request for each
// request of the level, and End, for one level after the other in the order of the
// run; levels without requests, too. Levels that are not reported are left out unless
// LevelRule.ReadAll is set.
type Analysis interface {
	Begin(level int)
	// Request reads one request, which is valid until it returns. Outputs may have an
	// [export.Envelope]. An error ends the
	// reading; ErrNoTokenizer means that there is no report.
	Request(q *export.Request) error
	End()
	// Report returns the report of the requests that were read. It is called once, after
	// the last level, also if the file broke off.
	Report() Report
}

// A scrapeReader is an Analysis that reads the telemetry of a run. Analyze calls
// ReadScrapes after the last level, if the requests were read without an error.
type scrapeReader interface {
	ReadScrapes(ctx context.Context, r export.Reader) error
}

// A LevelRule says which load levels of a run a tool reports. The zero value reports all
// levels, or the levels that Config.Level names.
type LevelRule struct {
	// One says that the tool reports one level: the last one that Config.Level names.
	One bool
	// Default is the level to report if Config.Level is empty and the run has several
	// levels. With the zero value, Choose returns an error instead, which Several
	// explains: "AIPerf reports each by itself".
	Default Level
	Several string
	// Missing, if not nil, completes the error about a level that the run lacks.
	Missing func(Level) string
	// ReadAll hands the requests of other levels to the Analysis, too.
	ReadAll bool
}

// Choose returns the indices of the levels to report, ascending. The error wraps
// ErrNoExperiment, or lists the levels if none is meant.
func (rule *LevelRule) Choose(run *export.Run, want Level) ([]int, error) {
	all := run.Experiments
	switch {
	case len(all) == 0:
		return nil, ErrNoExperiment
	case want != Level{}:
	case !rule.One || len(all) == 1:
		indices := make([]int, len(all))
		for i := range indices {
			indices[i] = i
		}
		return indices, nil
	case rule.Default == Level{}:
		return nil, fmt.Errorf("there are several load levels, and %s; choose one with --experiment: %s", rule.Several, levelNames(run))
	default:
		want = rule.Default
	}
	var found []int
	for i := range all {
		if want.Matches(&all[i]) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0 && rule.Missing != nil:
		return nil, fmt.Errorf("no such load level: %s; choose one with --experiment: %s", rule.Missing(want), levelNames(run))
	case len(found) == 0:
		return nil, NoSuchLevel(run)
	case rule.One: // a tool that reads the same level twice keeps the last
		found = found[len(found)-1:]
	}
	return found, nil
}

// NoSuchLevel returns the error for a level that the run lacks. It lists the levels.
func NoSuchLevel(run *export.Run) error {
	return fmt.Errorf("no such load level; choose one with --experiment: %s", levelNames(run))
}

func levelNames(run *export.Run) string {
	var names []string
	for i := range run.Experiments {
		names = append(names, run.Experiments[i].Mode+":"+run.Experiments[i].Value)
	}
	return sanitize.Text(strings.Join(names, ", "))
}

// A ResultFile writes the result file of a tool from a run.
type ResultFile struct {
	// Omits lists the parts of a run that the file does not hold.
	Omits string
	// Listed is the text for the file in lists of tools; "" leaves it out.
	Listed string
	// Ending is the end of the file's name; "" allows every name.
	Ending string
	// WholeRun says that the file holds the run as it is, so that no flag changes it.
	WholeRun bool
	// Companions returns the paths of the files that the tool keeps beside out; nil:
	// none.
	Companions func(out string, run *export.Run) []string
	// Write reads r and writes the file to w. out is the name of the file, for the names
	// of its companions. An error does not include the error of r itself: see r.Err.
	Write func(ctx context.Context, r export.Reader, cfg Config, out string, w io.Writer) (*Written, error)
}

// Written says what ResultFile.Write wrote.
type Written struct {
	Warnings   []error
	Companions []Companion // files to write beside it, at the paths of ResultFile.Companions
	Note       string      // a warning about the file that was written; "": none
}

// A Companion is a file that a tool keeps beside its result file.
type Companion struct {
	Path  string
	Write func(w io.Writer) error
}

// WriteResult calls t.Result.Write with a tokenizer whose failures are noticed. The
// error wraps ErrNotCounted if a text was not counted; w then holds wrong counts.
func WriteResult(ctx context.Context, t *Tool, r export.Reader, cfg Config, out string, w io.Writer) (*Written, error) {
	checked := checked(cfg.Tokenizer)
	if checked != nil {
		cfg.Tokenizer = checked
	}
	written, err := t.Result.Write(ctx, r, cfg, out, w)
	if err == nil {
		err = checked.Err()
	}
	if unread := r.Err(); errors.Is(unread, export.ErrContradiction) {
		err = unread
	}
	return written, err
}

// WriteReport is a ResultFile.Write for tools whose result file is the JSON report.
func WriteReport(ctx context.Context, t *Tool, r export.Reader, cfg Config, w io.Writer) (Report, *Written, error) {
	rep, err := Analyze(ctx, t, r, cfg)
	if err != nil && (rep == nil || r.Err() == nil) {
		return nil, nil, err
	}
	return rep, &Written{Warnings: rep.Warnings()}, rep.JSON(w)
}

// A Registry finds tools by name.
type Registry struct{ tools []*Tool }

// NewRegistry returns a Registry of tools. Lists keep their order.
func NewRegistry(tools ...*Tool) *Registry { return &Registry{tools} }

// Find returns the tool of that name; nil if there is none.
func (r *Registry) Find(name string) *Tool {
	for _, t := range r.tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Reports returns the tools that print reports and stand in lists.
func (r *Registry) Reports() []*Tool {
	return r.filter(func(t *Tool) bool { return t.New != nil && t.Listed != "" })
}

// Names returns the Listed texts of Reports for a help text. Of a family with many releases
// it names the first and the last: "genai-perf-24.03 to -latest".
func (r *Registry) Names() string {
	const most = 4
	var all []string
	for listed := r.Reports(); len(listed) > 0; {
		n := 1
		for n < len(listed) && listed[n].Family == listed[0].Family {
			n++
		}
		if n > most {
			all = append(all, listed[0].Listed+" to "+strings.TrimPrefix(listed[n-1].Listed, listed[0].Family))
		} else {
			for _, t := range listed[:n] {
				all = append(all, t.Listed)
			}
		}
		listed = listed[n:]
	}
	return strings.Join(all, ", ")
}

// Results returns the tools whose result files can be written and that stand in lists.
// Tools whose files hold the whole run come last.
func (r *Registry) Results() []*Tool {
	all := r.filter(func(t *Tool) bool { return t.Result != nil && t.Result.Listed != "" })
	slices.SortStableFunc(all, func(a, b *Tool) int {
		switch {
		case a.Result.WholeRun == b.Result.WholeRun:
			return 0
		case a.Result.WholeRun:
			return 1
		}
		return -1
	})
	return all
}

// Compared returns the tools that tables of definitions show, in their order there.
func (r *Registry) Compared() []*Tool {
	all := r.filter(func(t *Tool) bool { return t.Compared > 0 })
	slices.SortStableFunc(all, func(a, b *Tool) int { return a.Compared - b.Compared })
	return all
}

// Latest returns the name of the latest listed release of a tool that is named without
// one: "genai-perf-latest" for "genai_perf". It returns "" if name is no such tool.
func (r *Registry) Latest(name string) string {
	for _, t := range slices.Backward(r.Reports()) {
		if strings.HasPrefix(t.Name, strings.ReplaceAll(name, "_", "-")+"-") || strings.HasPrefix(t.Name, name+"-") {
			return t.Name
		}
	}
	return ""
}

func (r *Registry) filter(keep func(*Tool) bool) []*Tool {
	var all []*Tool
	for _, t := range r.tools {
		if keep(t) {
			all = append(all, t)
		}
	}
	return all
}

// Family returns the family whose name begins name; "" if there is none. The release
// need not exist: "genai-perf-99" belongs to "genai-perf".
func (r *Registry) Family(name string) string {
	for _, t := range r.tools {
		if name == t.Family || strings.HasPrefix(name, t.Family+"-") {
			return t.Family
		}
	}
	return ""
}

// OptionOf returns the only family whose tools take the option; "" if several do.
func (r *Registry) OptionOf(option string) string {
	family := ""
	for _, t := range r.tools {
		switch {
		case !slices.Contains(t.Options, option) || t.Family == family:
		case family != "":
			return ""
		default:
			family = t.Family
		}
	}
	return family
}

// Options returns all options that only some tools take.
func (r *Registry) Options() []string {
	var all []string
	for _, t := range r.tools {
		for _, o := range t.Options {
			if !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}
