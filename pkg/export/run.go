package export

import (
	"encoding/json"
	"slices"
	"strings"
)

// Modes of an experiment, as perf_analyzer writes them.
const (
	ModeConcurrency = "concurrency"
	ModeRequestRate = "request_rate"
)

// A Run is the header of a recorded run: everything except its requests and telemetry.
type Run struct {
	Experiments []Experiment

	// Version, ServiceKind and Endpoint are the top-level strings of
	// profile_export.json. Exports before 24.05 lack the last two: nil means
	// that the member is absent, which a rewrite must keep. Version is the
	// build of the writing tool and no marker of the format.
	Version     *string
	ServiceKind *string
	Endpoint    *string

	// Meta holds the facts about the run that pa-record adds ("pa" at the top level), nil
	// in files of other tools.
	Meta *RunMeta

	// Extra holds top-level members that no known release writes, in order.
	Extra Fields
}

// TextOf returns the text at s; "" for nil, a member that is absent.
func TextOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// An Experiment is one load level of a run.
type Experiment struct {
	Mode string
	// Value is the number text of the level as written: "8", "7.5", "10.0".
	Value string
	// WindowBoundaries are n+1 instants (ns) for n contiguous windows.
	// nil means that the member is absent.
	WindowBoundaries []uint64
	// Meta holds the facts about the level that pa-record adds, nil in files of other
	// tools.
	Meta *ExperimentMeta
	// Extra holds members that no known release writes, in order.
	Extra Fields
}

// LoadName returns a load in words: "request rate 2.5"; "" for a load that is not known.
func LoadName(mode, value string) string {
	return strings.TrimSpace(strings.ReplaceAll(mode, "_", " ") + " " + value)
}

// Name returns the name of the level: "concurrency:8". A level of sessions, which Mode and Value do not describe, has the name
// "session_concurrency:8" or "session_rate:2.5".
func (e *Experiment) Name() string {
	if e.Meta != nil {
		for _, words := range [...]string{"session concurrency", "session rate"} {
			if value, ok := strings.CutPrefix(e.Meta.Load, words+" "); ok {
				value, _, _ = strings.Cut(value, ",")
				return strings.ReplaceAll(words, " ", "_") + ":" + value
			}
		}
	}
	return e.Mode + ":" + e.Value
}

// Schema is the value of RunMeta.Schema that this version of the project
// writes.
const Schema = "pa-export/1"

// RunMeta is the record of how a run was made. It is stored as JSON under
// "pa" at the top level. All strings are free of credentials.
type RunMeta struct {
	Schema  string   `json:"schema"`
	Tool    string   `json:"tool"` // "pa-record 0.1.0"
	StartNS uint64   `json:"start_ns,omitempty"`
	EndNS   uint64   `json:"end_ns,omitempty"`
	Args    []string `json:"args,omitempty"` // argv with secrets redacted
	// Config is the resolved configuration of the recorder.
	Config json.RawMessage `json:"config,omitempty"`
	Host   *HostMeta       `json:"host,omitempty"`
	Model  string          `json:"model,omitempty"`
	// Models lists the models that requests went to, Model first; nil if there was
	// only one. [Request.Model] names the model of a request.
	Models []string `json:"models,omitempty"`
	URL    string   `json:"url,omitempty"` // the first
	// URLs lists the servers that requests went to in turn; nil if there was only one.
	URLs []string `json:"urls,omitempty"`
	// Protocol is the protocol of the requests: "http" or "grpc".
	Protocol string `json:"protocol,omitempty"`
	// Streaming reports whether the requests asked for streamed answers; nil if that
	// is not recorded, or differs between requests.
	Streaming *bool `json:"streaming,omitempty"`
	// DatasetSHA256 is the hash of the input data as sent to the backend, in hex.
	DatasetSHA256 string `json:"dataset_sha256,omitempty"`
	// PromptsSHA256 is the hash of what the model reads of the input data, in hex: without
	// parameters such as the temperature.
	PromptsSHA256 string `json:"prompts_sha256,omitempty"`
	// Parameters are the parameters of the requests beside their prompts, as compact
	// JSON; "varies" for one that differs between requests.
	Parameters map[string]string `json:"parameters,omitempty"`
	Seed       uint64            `json:"seed,omitempty"`
	// Dataset describes input data that was read from files or made up; nil for data
	// that is part of the recorder.
	Dataset *DatasetMeta `json:"dataset,omitempty"`
	// Repeat is the run's place in a series; nil when it is not part of one.
	Repeat *RepeatMeta `json:"repeat,omitempty"`
	// Shard is the file's place among the files of a run that several processes recorded;
	// nil for a run of one process.
	Shard *ShardMeta `json:"shard,omitempty"`
	// Merged is set when the run was put together from the shards of several ranks.
	Merged *MergedMeta `json:"merged,omitempty"`
	// Start is the meaning of the kernel's start stamp of a request:
	// [StartFirstSegment]. It is not about starts that the kernel did not take.
	Start string `json:"start,omitempty"`
	// Stamps counts responses by the source of their time.
	Stamps *StampCount `json:"stamps,omitempty"`
	// Calibration holds the errors of the recorder's times, measured on this machine
	// right before the run; nil if no calibration was asked for.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Telemetry describes the sources of telemetry; nil if none was asked for.
	// [Reader.Scrapes] gives their values.
	Telemetry []TelemetrySource `json:"telemetry,omitempty"`
	// Import is set when the run comes from a result file of another tool.
	Import *Import `json:"import,omitempty"`
	// Pauses are the times in which the recorder could not run, in their order.
	Pauses []Pause `json:"pauses,omitempty"`
	// Interrupted names the signal that ended the run early.
	Interrupted string `json:"interrupted,omitempty"`
	// Submission says whether the run follows the rules of a scenario; nil without one.
	Submission *Submission `json:"submission,omitempty"`
	Warnings   []string    `json:"warnings,omitempty"`
	// WithoutEffect lists what the command line or the input data asked for and the run did
	// not do.
	WithoutEffect []WithoutEffect `json:"without_effect,omitempty"`
	// AnalysisHints holds the options of another tool's command line that are about
	// its report, for pa-analyze: "dialect", "experiment", and further ones by the
	// names that the dialect gives them. nil if there was no such command line.
	AnalysisHints map[string]string `json:"analysis_hints,omitempty"`
}

// A Submission says whether a run follows the rules of a scenario.
type Submission struct {
	Scenario string   `json:"scenario"`
	Valid    bool     `json:"submission_valid"`
	Reasons  []string `json:"reasons,omitempty"` // why it does not, each a part of a sentence
}

// WithoutEffect is something that was asked for and had no effect on a run.
type WithoutEffect struct {
	What  string `json:"what"`            // the flag or the member of the input data
	Where string `json:"where,omitempty"` // entries on which a flag had no effect, such as "2 of 3 entries"; "" means all
	Why   string `json:"why"`
}

// String returns the parts as one line.
func (w WithoutEffect) String() string {
	text := w.What
	if strings.HasPrefix(text, "-") { // a flag
		text += " has no effect"
	}
	if w.Where != "" {
		text += " on " + w.Where
	}
	return text + ": " + w.Why
}

// Beginnings of the warnings of pa-record that tell whether runs can be compared.
// RunMeta has a ClockStepWarning for each step of the clock. ExperimentMeta has a
// SaturationWarning for each reason; the reason follows the beginning.
const (
	ClockStepWarning  = "the wall clock was set by "
	SaturationWarning = "the client may be the limit: "
)

// Causes of a Pause.
const (
	PauseStopped   = "stopped"   // Ctrl-Z or SIGSTOP stopped the process
	PauseSuspended = "suspended" // the machine was suspended
)

// A Pause is a time in which the recorder could not run.
type Pause struct {
	// StartNS and EndNS are the last instant before the pause and the first one after
	// it at which the recorder is known to have run, by the clock of the run.
	StartNS uint64 `json:"start_ns"`
	EndNS   uint64 `json:"end_ns"`
	// DurationNS is the length of the pause. EndNS − StartNS is less if the machine was
	// suspended, because the clock of the run stops then.
	DurationNS int64  `json:"duration_ns"`
	Cause      string `json:"cause"`
	// Rank is the process that could not run; 0 in a run that was not merged from shards.
	Rank int `json:"rank,omitempty"`
}

// StartFirstSegment is the value of RunMeta.Start for starts that are the time at
// which the first segment of the request left.
const StartFirstSegment = "first_segment"

// ExperimentMeta holds the facts about a load level that pa-record adds. It is stored
// as JSON under "pa" in the experiment, beside excluded_requests.
type ExperimentMeta struct {
	// Load describes the load if mode and value do not suffice: "schedule of
	// 5 requests", "request rate 10, poisson, at most 4 in flight".
	Load    string `json:"load,omitempty"`
	StartNS uint64 `json:"start_ns,omitempty"`
	EndNS   uint64 `json:"end_ns,omitempty"`
	// Share is the part of the level that is in this file: the part that one rank sent, or
	// all ranks whose shards were merged. nil for a whole level.
	Share *LevelShare `json:"share,omitempty"`
	// Prompts says which part of the input data the level sent; nil if that is not known.
	Prompts *LevelPrompts `json:"prompts,omitempty"`
	// Stable reports whether the measurement met its stability rule; nil without a
	// rule.
	Stable *bool `json:"stable,omitempty"`
	// OverLatencyLimit reports that the latency was over the limit of the run.
	OverLatencyLimit bool `json:"over_latency_limit,omitempty"`
	RequestCounts
	// Sessions counts the sessions of a level that sends some; nil for other levels.
	Sessions *SessionCounts `json:"sessions,omitempty"`
	// Unreadable counts the requests that could not be read in the file from which
	// this one was converted: see [Reader.Skipped].
	Unreadable int `json:"unreadable,omitempty"`
	// Client holds the recorder's figures about itself during the level; nil if it did
	// not measure them.
	Client *ClientMeta `json:"client,omitempty"`
	// ServerStats holds the counters of a Triton server during the level; nil if the
	// server was not asked or is no Triton server.
	ServerStats *ServerStats `json:"server_stats,omitempty"`
	// Interrupted is set when the level was ended early by a signal.
	Interrupted bool     `json:"interrupted,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// An Import marks a run that was read from the result file of another tool, and names the
// parts that the file lacks. It is stored as JSON under "import" in
// the "pa" of the run.
type Import struct {
	// Format names the tool and its file: "GuideLLM benchmarks.json".
	Format string `json:"format"`
	// Lacks are the parts that the file lacks. Figures that need such a part have no
	// value.
	Lacks []Lack `json:"lacks,omitempty"`
	// Results holds, for each experiment in order, the facts that the file states
	// besides its requests, by the names and in the words of the tool: "duration",
	// "model_id". nil if none are kept.
	Results []map[string]string `json:"results,omitempty"`
	// Totals holds, for each experiment in order, the totals that the file states, if requests of it, or the times at which they
	// were sent, are missing; nil if none are kept.
	Totals []StatedTotals `json:"totals,omitempty"`
}

// StatedTotals are the totals of an experiment that a file states. A count that is nil, and a duration of 0, are not stated.
type StatedTotals struct {
	DurationS    float64 `json:"duration_s,omitempty"`
	Requests     *int64  `json:"requests,omitempty"` // that succeeded
	InputTokens  *int64  `json:"input_tokens,omitempty"`
	OutputTokens *int64  `json:"output_tokens,omitempty"`
}

// Possible reports whether the duration is one, and no count is below 0.
func (t *StatedTotals) Possible() bool {
	return t.DurationS > 0 && t.DurationS < float64(LongestNS)/1e9 && !slices.ContainsFunc([]*int64{t.Requests, t.InputTokens, t.OutputTokens}, func(n *int64) bool { return n != nil && *n < 0 })
}

// Totals returns the [Import.Totals] of an experiment; nil if there are none.
func (r *Run) Totals(experiment int) *StatedTotals {
	if r.Meta == nil || r.Meta.Import == nil || experiment < 0 || experiment >= len(r.Meta.Import.Totals) {
		return nil
	}
	return &r.Meta.Import.Totals[experiment]
}

// Result returns the [Import.Results] of an experiment; nil if there are none.
func (r *Run) Result(experiment int) map[string]string {
	if r.Meta == nil || r.Meta.Import == nil || experiment < 0 || experiment >= len(r.Meta.Import.Results) {
		return nil
	}
	return r.Meta.Import.Results[experiment]
}

// A Lack is a part of a run that a file does not hold, and why.
type Lack struct {
	Part Part   `json:"part"`
	Why  string `json:"why"` // "GuideLLM keeps the first and the last token of a request"
	// Mode and Value name the level that lacks the part, if not all levels do.
	Mode  string `json:"mode,omitempty"`
	Value string `json:"value,omitempty"`
}

// A Part is a part of a run that result files of other tools may lack.
type Part string

// Parts of a run.
const (
	// PartEpoch: the instants are of a clock whose zero is unknown. Their
	// differences are right.
	PartEpoch Part = "epoch"
	// PartStarts: when requests were sent. All requests are at one instant, so that
	// only times within a request are known: no rates, no order, no windows.
	PartStarts Part = "starts"
	// PartGaps: token events between the first and the last.
	PartGaps Part = "gaps"
	// PartLast: when the last token came.
	PartLast Part = "last_token"
	// PartEnds: when the answers were over. The last response of a request is
	// its last token event at best.
	PartEnds Part = "ends"
	// PartTexts: the texts of single responses.
	PartTexts Part = "texts"
	// PartInputs: the inputs of requests.
	PartInputs Part = "inputs"
	// PartRequests: requests that the file counts and does not hold. Times within the others
	// are known; rates, shares and the order of all requests are not.
	PartRequests Part = "requests"
)

// Lacks returns why the file of the run lacks a part, of all levels or of some; ok is false if it has
// the part, or if the run does not tell. A file that lacks requests lacks their starts, too.
func (r *Run) Lacks(p Part) (why string, ok bool) {
	return r.lacks(p, func(*Lack) bool { return true })
}

// LevelLacks is Lacks for the levels with a mode and a value.
func (r *Run) LevelLacks(mode, value string, p Part) (why string, ok bool) {
	return r.lacks(p, func(l *Lack) bool { return l.ofAll() || l.Mode == mode && l.Value == value })
}

// AllLack is Lacks for parts that no level has.
func (r *Run) AllLack(p Part) (why string, ok bool) { return r.lacks(p, (*Lack).ofAll) }

func (l *Lack) ofAll() bool { return l.Mode == "" && l.Value == "" }

func (r *Run) lacks(p Part, counts func(*Lack) bool) (why string, ok bool) {
	if r.Meta == nil || r.Meta.Import == nil {
		return "", false
	}
	for i := range r.Meta.Import.Lacks {
		if l := &r.Meta.Import.Lacks[i]; l.Part == p && counts(l) {
			return l.Why, true
		}
	}
	if p == PartStarts {
		return r.lacks(PartRequests, counts)
	}
	return "", false
}
