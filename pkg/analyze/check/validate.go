package check

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// A Violation is a fault in a file that no correct recorder produces.
type Violation struct {
	Experiment int // index; −1 when it is about the whole file
	Request    int // index among the requests of the experiment as read; −1 when it is about no request
	// StartNS is the timestamp of the request, which helps to find it in the file.
	StartNS uint64
	Msg     string
}

// String returns "experiment 0: request 17 (timestamp 1700…): …".
func (v Violation) String() string {
	s := ""
	if v.Experiment >= 0 {
		s = fmt.Sprintf("experiment %d: ", v.Experiment)
	}
	if v.Request >= 0 {
		s += fmt.Sprintf("request %d (timestamp %d): ", v.Request, v.StartNS)
	}
	return s + v.Msg
}

// A Validation holds the counts of [Validate].
type Validation struct {
	Experiments int
	Requests    int
	Responses   int
	Violations  int
	// NotUTF8 counts texts that are not UTF-8. perf_analyzer writes them: raw
	// numbers before 24.08, events cut inside a character in all releases.
	NotUTF8 int
	// OutputsDropped counts requests whose outputs the recorder left out.
	OutputsDropped int
	// NotCompared is the reason why derived columns could not be computed again; "" if they
	// were compared, or if the file has none.
	NotCompared string
}

// A ValidateConfig says how tokens are counted again where a tokenizer counted them. The zero value
// has no tokenizer.
type ValidateConfig struct {
	// Counter counts tokens of texts; nil means that there is no tokenizer.
	Counter answer.TokenCounter
	// Tokenizer is the SHA-256 of the Counter's file in hex.
	Tokenizer string
	// Requests are the requests of other shards of the run, and File the index in it of the
	// file that is validated. nil compares the requests of the file with each other only.
	Requests *shards.Requests
	File     int
}

// Validate reads r to its end and calls found for each violation of these rules:
//
//   - the value of a level is a number; window boundaries increase
//   - a measured request has a timestamp, and so does every request with responses
//   - no response comes before its request, or before the previous response
//   - a measured, successful request has a response and ends inside the windows
//   - the last byte of a request does not leave before the first
//   - a request whose outputs were dropped holds none
//   - the derived columns of a table say what its requests say, if they were derived by
//     the present definitions, and without a tokenizer or with the tokenizer of cfg
//   - the facts of the run and of its levels are possible
//   - the place of a shard among the ranks, and the difference of its clock, are possible
//   - no request stands twice, also not in another shard of the run, and the rank of a
//     request is the rank of its shard
//   - pa-record's counts are the numbers of requests in the file
//   - scrapes of a source and statistics of a server are in the order of time, of
//     known types and sources, and their counters do not fall while it runs
//
// It returns the error of the reader or of ctx.
func Validate(ctx context.Context, r export.Reader, cfg ValidateConfig, found func(Violation)) (Validation, error) {
	run := r.Run()
	v := validator{found: found, held: make([]export.RequestCounts, len(run.Experiments))}
	rows := export.Read(r, export.Need{})
	v.findDerived(r, cfg)
	v.findRanks(run, cfg)
	v.Experiments = len(run.Experiments)
	if m := run.Meta; m != nil && m.Shard != nil {
		if err := shards.Check(m.Shard); err != nil { // the commands that merge it refuse it
			v.at = Violation{Experiment: -1, Request: -1}
			v.say("%v", err)
		}
	}
	_, wrong := run.Possible()
	for _, fact := range wrong {
		v.at = Violation{Experiment: -1, Request: -1}
		v.say("%s, which is impossible", fact)
	}
	for i := range run.Experiments {
		v.at = Violation{Experiment: i, Request: -1}
		v.header(run, &run.Experiments[i])
		v.statistics(&run.Experiments[i])
	}
	index, experiment := 0, -1
	for rows.Next() {
		if v.Requests&1023 == 0 && ctx.Err() != nil {
			return v.Validation, context.Cause(ctx)
		}
		if rows.Experiment() != experiment {
			index, experiment = 0, rows.Experiment()
		}
		row := rows.Row()
		q := row.Request
		v.at = Violation{Experiment: experiment, Request: index, StartNS: q.StartNS}
		v.request(q, &run.Experiments[experiment])
		v.derived(row)
		v.place(q)
		index++
	}
	if err := r.Err(); err != nil {
		return v.Validation, err // counts of half a file mean nothing
	}
	for i := range run.Experiments {
		v.at = Violation{Experiment: i, Request: -1}
		v.counts(&run.Experiments[i], &v.held[i])
	}
	return v.Validation, v.telemetry(ctx, r)
}

type validator struct {
	Validation
	found func(Violation)
	at    Violation
	held  []export.RequestCounts // by experiment

	checker *answer.Checker // nil if the file has no derived columns to compare

	seen  *shards.Requests // nil if the file is not of pa-record
	file  int              // index in seen
	ranks map[int]bool     // of a merged run; nil if the requests have no ranks
}

func (v *validator) say(format string, args ...any) {
	v.Violations++
	at := v.at
	at.Msg = fmt.Sprintf(format, args...)
	v.found(at)
}

func (v *validator) header(run *export.Run, e *export.Experiment) {
	// The result file of another tool may lack the load.
	unknown := e.Value == "" && run.Meta != nil && run.Meta.Import != nil
	if _, err := strconv.ParseFloat(e.Value, 64); err != nil && !unknown {
		v.say("value %q of mode %q is not a number", e.Value, e.Mode)
	}
	w := e.WindowBoundaries
	if len(w) == 1 {
		v.say("only one window boundary; n windows need n+1")
	}
	for i := 1; i < len(w); i++ {
		if w[i] <= w[i-1] {
			v.say("window boundary %d (%d) is not after the previous one (%d)", i, w[i], w[i-1])
		}
	}
}

func (v *validator) request(q *export.Request, e *export.Experiment) {
	v.Requests++
	v.Responses += len(q.Responses)
	reason := q.Excluded()
	v.held[v.at.Experiment].Add(q)
	if q.StartNS == 0 && (reason == "" || len(q.Responses) > 0) {
		v.say("no timestamp")
	}
	if q.SentNS != 0 && q.SentNS < q.StartNS {
		v.say("the last byte left at %d, before the first", q.SentNS)
	}
	if q.OutputsDropped {
		v.OutputsDropped++
	}
	before, what := q.StartNS, "the request"
	for i := range q.Responses {
		p := &q.Responses[i]
		if p.RecvNS < before {
			v.say("response %d at %d is %s before %s", i, p.RecvNS, nanoseconds(p.RecvNS, before), what)
		}
		before, what = p.RecvNS, fmt.Sprintf("response %d", i)
		v.texts(p.Outputs)
		if q.OutputsDropped && len(p.Outputs) > 0 {
			v.say("response %d has outputs, though they were dropped", i)
		}
	}
	v.texts(q.Inputs)
	if reason == "" {
		v.measured(q, e.WindowBoundaries)
	}
}

// measured checks a request that counts. It must end inside the windows. Its end is the
// last response; if that came after the windows, the response before it, because
// perf_analyzer ignores an empty final response.
func (v *validator) measured(q *export.Request, windows []uint64) {
	n := len(q.Responses)
	if n == 0 {
		v.say("no response")
		return
	}
	if len(windows) < 2 {
		return
	}
	first, last := windows[0], windows[len(windows)-1]
	end := q.Responses[n-1].RecvNS
	if n > 1 && end > last {
		end = q.Responses[n-2].RecvNS
	}
	if end < first || end > last {
		v.say("ended at %d, outside the windows (%d to %d)", end, first, last)
	}
}

func (v *validator) texts(f export.Fields) {
	for i := range f {
		if f[i].Value.Text && !utf8.Valid(f[i].Value.Data) {
			v.NotUTF8++
		}
	}
}

// counts compares pa-record's counts of requests with the requests.
func (v *validator) counts(e *export.Experiment, held *export.RequestCounts) {
	if e.Meta == nil {
		return
	}
	for _, d := range held.Differences(&e.Meta.RequestCounts) {
		v.say("the file's metadata counts %d %s, but the file holds %d", d.Stated, d.What, d.Held)
	}
}

// nanoseconds formats to − from for messages, such as "120 ns".
func nanoseconds(from, to uint64) string { return strconv.FormatUint(to-from, 10) + " ns" }

// findDerived sets v.checker if the derived columns of r can be computed again and compared, and
// else v.NotCompared to the reason.
func (v *validator) findDerived(r export.Reader, cfg ValidateConfig) {
	stored := export.StoredIn(r)
	if stored == nil {
		return
	}
	checker, err := answer.NewChecker(r.Run(), stored.Derivation, cfg.Counter, cfg.Tokenizer)
	if err != nil {
		v.NotCompared = err.Error()
		return
	}
	v.checker = checker
}

// derived compares the derived columns of a request with its responses.
func (v *validator) derived(row *export.Row) {
	if v.checker == nil {
		return
	}
	switch d := v.checker.Check(row.Request, row.Derived); {
	case d == nil:
	case d.Column == "":
		v.say("the derived columns are missing")
	default:
		v.say("column %s does not match the responses; pa-analyze convert computes it again", d.Column)
	}
}

// findRanks finds with which requests and ranks the requests of a file are compared. The result
// files of other tools have no ids of ours.
func (v *validator) findRanks(run *export.Run, cfg ValidateConfig) {
	m := run.Meta
	if m == nil || m.Import != nil {
		return
	}
	if v.seen, v.file = cfg.Requests, cfg.File; v.seen == nil {
		rank := shards.AnyRank
		if m.Shard != nil {
			rank = m.Shard.Rank
		}
		v.seen = new(shards.Requests)
		v.file = v.seen.File("the file", rank)
	}
	if m.Merged != nil {
		v.ranks = map[int]bool{}
		for _, s := range m.Merged.Shards {
			v.ranks[s.Rank] = true
		}
	}
}

// place checks that a request stands once, and in a file of its rank.
func (v *validator) place(q *export.Request) {
	if v.seen == nil {
		return
	}
	if err := v.seen.Add(v.file, q); err != nil {
		v.say("%v", err)
	}
	if v.ranks != nil && q.HasMeta && !v.ranks[q.Rank] {
		v.say("rank %d sent the request, but the run was merged from shards of other ranks", q.Rank)
	}
}
