package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A layout turns the rows of a file into entries.
type layout struct {
	name string
	what string // typical members of its rows, for messages
	// fits recognizes the layout by the first row of a file.
	fits func(r *row, f *file) bool
	// entries returns the entries of row i. No entries means that the row is skipped. It is first called for every
	// row in order, then for any row again, with the same result.
	entries func(f *file, o *Options, r *row, i int) ([]workload.Entry, error)
	// group and sessions, in place of entries, make a layout of sessions. A nil group means that each row has sessions of its own. group returns names that row i has in common
	// with the other rows of its sessions, at least one, or none for a row that is skipped; it is called for every row in order.
	// sessions returns the sessions of rows that names connect, in the order of the file. It is called for every such group at
	// Open, and again, with the same result, when one of its sessions begins; the Entry of a Session is best made when it is asked
	// for, since many sessions are open at a time. An error may be a rowError, which names the row.
	group    func(f *file, o *Options, r *row, i int) (names []string, err error)
	sessions func(f *file, o *Options, rows []groupRow) ([]*workload.Session, error)
	// plays reports whether the rows of a file with this first row are read as sessions, in a layout that has entries, too. Nil means
	// that they are.
	plays func(first *row, o *Options) bool
	// wholeSessions means that a row holds all turns of a session.
	wholeSessions bool
	trace         bool // the rows are requests of the past
	// members are the names of all members of a row that the layout reads. Other members are
	// recorded as ignored. nil means that the layout itself handles other members, or that they
	// describe a request of the past, as in traces.
	members []string
}

// layouts is tried in this order, the most specific first.
var layouts = []layout{
	{
		name: "inputs_json", what: `"payloads"`, fits: withMembers("payloads"), entries: sessionOfRequests,
		wholeSessions: true, members: []string{"session_id", "payloads"},
	},
	{name: "perf_analyzer", what: `"data" of perf_analyzer`, fits: fitsPerfAnalyzer, entries: perfAnalyzerStep},
	{name: "lmcache", what: `"input" and "pre_gap"`, fits: fitsLMCache, group: groupBy("session_id"), sessions: lmcacheSessions},
	{
		name: "lmcache_text", what: `"input" and "output" with microseconds`, fits: fitsLMCacheText,
		group: lmcacheTextGroup, sessions: lmcacheTextSessions,
	},
	{name: "mlperf_agentic", what: `"conversation_id", "turn" and "role"`, fits: fitsMLPerf, group: mlperfGroup, sessions: mlperfSessions},
	{name: "agentperf", what: `"task_id" and "conversation_idx"`, fits: fitsAgentperf, group: groupBy("task_id"), sessions: agentperfSessions},
	{name: "agentic_trace", what: `"conversations" of turns`, fits: fitsAgenticTrace, group: agenticTraceGroup, sessions: agenticTraceSessions},
	{name: "tracelab", what: `"prefix_tokens" or "prefix_len"`, fits: fitsTraceLab, group: tracelabGroup, sessions: tracelabSessions, trace: true},
	{name: "rollouts", what: `"out_lens"`, fits: fitsRollouts, group: groupBy("group"), sessions: rolloutSessions, trace: true},
	{
		name: "applied_compute_agentic", what: `"assistant_response_length"`, fits: fitsAppliedCompute,
		group: appliedComputeGroup, sessions: appliedComputeSessions, trace: true,
	},
	{
		name: "agentic_mooncake", what: `"request_id" and "hash_ids"`, fits: fitsAgenticMooncake,
		group: agenticMooncakeGroup, sessions: agenticMooncakeSessions, trace: true,
	},
	{name: "baseten", what: `"timestamp_start_unix_ms"`, fits: fitsBaseten, group: basetenGroup, sessions: basetenSessions},
	{
		name: "burstgpt", what: `"Request tokens"`, fits: withMembers("Timestamp", "Request tokens", "Response tokens"),
		entries: burstGPTRequest, trace: true,
	},
	{
		name: "azure", what: `"ContextTokens"`, fits: withMembers("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
		entries: azureRequest, trace: true, members: []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"},
	},
	{name: "weka", what: `"requests" with "hash_ids"`, fits: fitsWeka, sessions: wekaSession, trace: true},
	{
		name: "sharegpt", what: `"conversations"`, fits: fitsShareGPT, entries: conversation,
		wholeSessions: true, members: []string{"id", "conversation", "conversations"},
	},
	{name: "dynamo", what: `"schema" of a Dynamo request trace`, fits: fitsDynamo, group: dynamoGroup, sessions: dynamoSessions, trace: true},
	{name: "execution_trace", what: `"events" with an "event_type"`, fits: fitsExecution, sessions: executionSession, trace: true},
	{name: "graph_ir", what: `"kind": "graph" of a Graph IR`, fits: fitsGraph, sessions: graphSessions},
	{name: "otel_spans", what: `"spans"`, fits: fitsSpans, sessions: spanSession},
	{name: "dag_jsonl", what: `"turns" of messages`, fits: fitsDAG, group: dagConversation, sessions: dagSessions},
	{
		name: "mt_bench", what: `"turns" of texts`, fits: fitsMTBench, entries: mtBenchTurns,
		wholeSessions: true, members: []string{"question_id", "turns"},
	},
	{name: "multi_turn", what: `"turns"`, fits: withMembers("turns"), entries: sessionOfTurns, wholeSessions: true},
	{
		name: "openorca", what: `"question"`, fits: withMembers("question"), entries: question("system_prompt", "question", "response"),
		members: []string{"id", "system_prompt", "question", "response"},
	},
	{
		name: "cnn_dailymail", what: `"article"`, fits: withMembers("article"), entries: question("", "article", "highlights"),
		members: []string{"id", "article", "highlights"},
	},
	{name: "mooncake", what: `"input_length"`, fits: fitsMooncake, entries: mooncakeRequest, plays: playsMooncake, group: mooncakeGroup, sessions: mooncakeSessions, trace: true},
	{name: "requests", what: "a whole request", fits: fitsRequests, entries: requestOrPrompt},
	{name: "prompts", what: strings.Join(quoteAll(promptColumns), ", "), fits: fitsPrompts, entries: promptOrRequest},
}

// withMembers recognizes rows with all of these members.
func withMembers(names ...string) func(r *row, f *file) bool {
	return func(r *row, _ *file) bool { return r.has(names...) }
}

// Layouts returns the names of all layouts.
func Layouts() []string {
	var all []string
	for _, l := range layouts {
		all = append(all, l.name)
	}
	return all
}

func findLayout(name string) *layout {
	i := slices.IndexFunc(layouts, func(l layout) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &layouts[i]
}

// chooseLayout selects the layout of a file by its first row.
func chooseLayout(f *file, first *row, o *Options) (*layout, error) {
	if o.Layout != "" {
		l := findLayout(o.Layout)
		if !l.fits(first, f) {
			return nil, fmt.Errorf("is not a row of %s, which has %s; it has %s", l.name, l.what, columnNames(first))
		}
		return l, nil
	}
	for _, all := range [][]layout{o.further, layouts} {
		for i := range all {
			if all[i].fits(first, f) {
				return &all[i], nil
			}
		}
	}
	if slices.Contains(first.names(), "experiments") {
		return nil, errors.New(`has "experiments", so it is the recording of a run, not input data; pa-record inputs with the flags of that run prints what it sent`)
	}
	var known []string
	for _, l := range layouts {
		known = append(known, l.what)
	}
	slices.Reverse(known) // the plain layouts are last in layouts, and people mostly mean one
	return nil, fmt.Errorf("none of its members is known to hold a prompt: it has %s; expected one of %s", columnNames(first), strings.Join(known, ", "))
}

// columnNames lists the members of a row, for messages.
func columnNames(r *row) string {
	const most = 12
	names := quoteAll(r.names())
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// missing returns the error for a member that a row must have.
func missing(r *row, member string) error {
	return fmt.Errorf("no %q: it has %s", member, columnNames(r))
}

func quoteAll(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = fmt.Sprintf("%q", clip([]byte(n)))
	}
	return all
}
