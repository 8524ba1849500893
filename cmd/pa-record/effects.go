package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// An effectRule says why flags, or a part of the input data, have no effect on the requests and their schedule. Flags
// that exclude each other have no rule: the functions that read them refuse them.
type effectRule struct {
	flags []string // nil for a rule about the input data
	part  string   // names the part of the input data
	why   string   // why there is no effect; "" if there is one
	// where names the entries without an effect; "" means all.
	where string
	// refused makes a lack of effect an error.
	refused bool
	// load marks a rule about sending. It does not apply when pa-record only writes requests to a file.
	load bool
}

// rules returns the table of rules. data is nil until the files of the input data are opened, and for data
// without files. A flag that is not in the table has an effect wherever it is not refused.
func (s *settings) rules(data *dataset.Facts) []effectRule {
	opened, noFiles := data != nil, !s.readsFiles()
	if !opened {
		data = &dataset.Facts{}
	}
	api, _ := s.api()
	openAI := s.ServiceKind == kindOpenAI
	madeTensors := !openAI && noFiles && s.inputLengths == nil
	noLength, otherPrompts := s.noLength(api), s.otherPrompts(api)
	extraLength := when(openAI && s.template == nil && s.extraMember(s.lengthName(api)), "--extra-body sets "+s.lengthName(api))
	notPrompts := shareOf(data.Entries-data.Prompts, data)
	ownLength := shareOf(data.Lengths+data.Whole, data)
	ownField := shareOf(data.OwnFields+data.Whole, data)
	sendConversations := s.sendConversations()
	noHistory := openAI && !s.conversations() && data.LaterTurns > 0
	history := plural.GroupedOf(data.LaterTurns, "later turn") + " without the history; " + sendConversations
	return []effectRule{
		// Load.
		{flags: []string{"measurement-mode", "measurement-interval", "measurement-request-count", "max-trials", "stop-on-unstable"}, load: true, why: s.noWindows()},
		{flags: []string{"stability-percentage"}, load: true, why: when(s.Measure.stabilityPct != genAIPerfStability, s.noWindows())}, // GenAI-Perf gives both
		{flags: []string{"measurement-interval"}, load: true, why: when(s.Measure.windowed && s.Measure.Mode == window.ByCount, "it is the length of time windows; drop --measurement-mode count_windows")},
		{flags: []string{"measurement-request-count"}, load: true, why: when(s.Measure.windowed && s.Measure.Mode == window.ByTime, "it is the length of count windows; add --measurement-mode count_windows")},
		{flags: []string{"max-threads"}, load: true, why: "every request in flight has its own connection"},
		{flags: []string{"serial-sequences"}, load: true, why: "at most one request of a sequence is in flight without it"},
		{flags: []string{"interleave"}, load: true, why: when(s.Repeat < 2, "there is one run; give --repeat")},

		// Input.
		{flags: []string{"shape", "string-length", "string-data"}, why: when(openAI, "tensors are for --service-kind triton")},
		{flags: []string{"string-length", "string-data"}, why: when(!openAI && !s.madeRandom(), "only random tensors have random strings; the input data has its own")},
		{flags: []string{"string-length"}, why: when(s.StringData != "", "--string-data gives the text")},
		{flags: []string{"max-spool", "max-ratio"}, why: when(noFiles, "no file is read; give one with --input-data")},
		{flags: []string{"dataset-sampling-strategy"}, why: when(s.Order != "" && (madeTensors || data.Entries == 1), "there is one entry")},
		{flags: []string{"dataset-sampling-strategy"}, why: when(s.Order != "" && s.conversations() && data.Sessions.Sessions == 1, "there is one session")},
		{flags: []string{"block-tokens"}, why: when(opened && data.Blocks == 0, `no entry of the input data has "hash_ids"`)},
		{flags: []string{"trace-rows"}, why: when(opened && data.TraceWhole+data.TraceNew+data.TraceUnknown == 0, "no entry of the input data is a later turn of a trace")},
		{flags: []string{"trace-rows", "session-history"}, load: true, why: when(opened && !s.conversations(), "turns are sent as single prompts; --session-concurrency N sends conversations")},
		{flags: []string{"session-history"}, why: when(s.SessionHistory != serverHistory && opened && s.conversations() && data.Answered == 0, "no conversation of the input data has answers beside its turns")},
		{flags: []string{"request-template"}, where: notPrompts, why: when(notPrompts != "", "they are not prompts, and are sent as they are")},
		{flags: []string{"include-usage"}, why: s.noUsage(api)},
		{flags: []string{"keep-media"}, why: when(!openAI || api != render.Speech && api != render.Images, "the answers hold no images and no audio")},
		{flags: []string{"cache-bust", "cache-salt", "num-prefix-prompts"}, why: when(openAI && s.template == nil && api == render.Transcription, "a transcription sends the clip, not the text")},
		{flags: []string{"include-usage"}, where: notPrompts, why: when(notPrompts != "", "they are not prompts, and are sent as they are")},
		{flags: []string{"backend"}, why: when(madeTensors || opened && data.Prompts == 0, "it applies to prompts, and the requests hold tensors")},
		{flags: []string{"random-seed"}, why: when((noFiles || opened) && !s.drawsWithoutFiles() && !data.Trace, "nothing in this run is random")},
		{flags: []string{"model"}, where: "requests", why: s.otherModel(api)},
		{flags: []string{"streaming"}, why: when(s.Streaming && openAI && s.template != nil && !s.templateStreams, `--request-template decides, and does not say "stream": true`)},

		// Lengths of answers.
		{flags: lengthFlags, why: noLength},
		{flags: lengthFlags, why: extraLength},
		{flags: []string{"output-tokens-mean-deterministic"}, why: when(openAI && s.ExactOutput && !api.LeastLength(), s.Endpoint+" has no least length")},
		{flags: []string{"output-tokens-stddev"}, why: when(s.outputLengths == nil && !s.noOutputLength, "--output-tokens-mean is not given")},
		{
			flags: []string{"output-tokens", "output-tokens-mean"}, refused: true,
			why: when(opened && s.outputLengths != nil && data.Entries > 0 && data.Prompts == 0, "the input data holds whole requests, which are sent as they are; drop it"),
		},
		{
			flags: []string{"cache-bust", "cache-salt", "num-prefix-prompts"}, refused: true,
			why: when(opened && s.inputLengths == nil && notPrompts != "", "the input data holds whole requests or tensors, which cannot get a prefix; drop it"),
		},
		{flags: []string{"output-tokens", "output-tokens-mean", "output-tokens-stddev"}, where: ownLength, why: when(ownLength != "", "they have their own length, or are whole requests")},
		{flags: []string{"max-tokens-field"}, why: when(noFiles && s.outputLengths == nil && (s.noOutputLength || s.inputLengths != nil), "no request has a length; add --output-tokens-mean")},
		{flags: []string{"max-tokens-field"}, why: when(opened && s.outputLengths == nil && data.Lengths == data.OwnFields, "no request has a length that pa-record names")},
		{flags: []string{"max-tokens-field"}, where: ownField, why: when(ownField != "", "they name the member themselves, or are whole requests")},

		// Conversations.
		{flags: []string{"sessions-as"}, why: when(s.SessionsAs == asConversations && noFiles && s.MadeSessions == 0 && s.Agents == nil, "there is no input data with sessions; add --num-sessions or --agents")},
		{
			flags: []string{"history-reasoning", "on-session-failure"}, load: true, refused: true,
			why: when((opened || noFiles) && !s.conversations() && s.Agents == nil, "no conversations are sent; "+sendConversations),
		},
		{
			flags: []string{"num-sessions", "session-turns-mean", "session-turns-stddev", "session-turn-delay-mean", "session-turn-delay-stddev", "session-delay-ratio"}, load: true, refused: true,
			why: when(!s.conversations() && s.Agents == nil, "--"+s.shapeFlag+" sends each turn as a single prompt; "+sendConversations),
		},
		{
			flags: []string{"session-turn-delay-mean", "session-turn-delay-stddev", "session-turns-stddev"},
			why:   when(s.MadeSessions > 0 && s.TurnsMean == 1 && s.TurnsStddev == 0, "the conversations have one turn each; add --session-turns-mean"),
		},
		{
			flags: []string{"session-delays", "session-delay-cap", "session-idle-cap"}, load: true, refused: true,
			why: when((opened || noFiles) && !s.conversations(), "no sessions are sent; "+sendConversations),
		},
		{
			flags: []string{"cache-bust"}, load: true, refused: true,
			why: when(s.marker != nil && (opened || noFiles) && !s.conversations(), "a marker marks each play of a session, and no session is played; "+sendConversations),
		},
		{flags: []string{"cache-bust"}, refused: true, why: when(s.marker != nil && !s.sends, "a marker marks each play of a session, and no session is played; drop it")},
		{
			flags: []string{"session-delay-ratio", "session-delays", "session-delay-cap"},
			why:   when(noFiles && s.Agents == nil && (s.MadeSessions == 0 || s.DelayMeanMS == 0 && s.DelayStddevMS == 0) || s.Agents.withoutDelays() || opened && data.Delays == 0, "no turn has a think time"),
		},

		// Made-up agents.
		{flags: []string{"agent-subagent-after", "agent-subagent-turns", "agent-subagent-tokens", "agent-background"}, why: when(s.Agents.withoutSubagents(), "no session has sub-agents; add --agent-subagents")},
		{flags: []string{"agent-background"}, why: when(s.Agents.onlyBackground(), "a session has one request, so no other request could wait")},
		{flags: []string{"agent-think-time"}, why: when(s.Agents.always(1, func(x *agentSettings) synth.Amount { return x.Tasks }), "a session has one task; add --agent-tasks")},
		{
			flags: []string{"agent-tool-tokens", "agent-tool-delay"},
			why:   when(s.Agents.always(1, func(x *agentSettings) synth.Amount { return x.Turns }) && s.Agents.withoutSubagents(), "a task has one request, and no tool returns anything; add --agent-turns"),
		},
		{flags: []string{"agent-resets", "agent-reset-keep"}, why: when(s.Agents.withoutResets(), "no history is reset; see --agent-resets and --agent-context")},

		{flags: []string{"session-delays"}, why: when((noFiles || opened) && s.delays.Kind == workload.ThinkOnly && data.Sessions.Starts == 0, "the delays already are think times")},

		// Members of the input data.
		{part: "history of conversations", load: true, refused: true, why: when(noHistory && s.FixedSchedule, "--fixed-schedule sends "+history+`, or drop "session_id"`)},
		{part: "history of conversations", load: true, why: when(noHistory && !s.FixedSchedule, "sending "+history)},
		{part: "turns after the first", why: when(data.UnsentTurns > 0, plural.GroupedOf(data.UnsentTurns, "turn")+" of "+plural.GroupedOf(data.UnsentOf, "conversation")+plural.Form(data.UnsentTurns, " is", " are")+" not sent; "+sendConversations)},
		{part: `"delay"`, load: true, why: when(!s.conversations() && data.Delays > 0, shareOf(data.Delays, data)+plural.Form(data.Delays, " has", " have")+" a think time, which only conversations wait for (--session-concurrency N)")},
		{part: `"timestamp"`, load: true, why: when(!s.FixedSchedule && data.Timed > 0 && len(s.InputData) > 0, shareOf(data.Timed, data)+plural.Form(data.Timed, " has", " have")+" a time, which only --fixed-schedule keeps")},
		{part: "prompts", why: when(noFiles || data.Prompts > 0, otherPrompts)},
		{part: "lengths of answers in the input data", why: when(data.Lengths > 0, cmp.Or(noLength, extraLength))},
		{part: `"stream": false`, why: when(s.Streaming && openAI && data.Unstreamed > 0, "--streaming wins over it in "+shareOf(data.Unstreamed, data))},
		{part: `"stream": false of --extra-body`, why: when(s.Streaming && s.template == nil && s.extraUnstreamed(), "--streaming wins over it; drop one")},
	}
}

// lengthFlags are the flags about the lengths of answers.
var lengthFlags = []string{"output-tokens", "output-tokens-mean", "output-tokens-stddev", "output-tokens-mean-deterministic"}

// sendConversations says how the load can send conversations.
func (s *settings) sendConversations() string {
	const how = "send conversations with --session-concurrency N"
	switch {
	case s.FixedSchedule:
		return "send conversations with --sessions-as " + asConversations
	case s.shapeFlag == "concurrency-range":
		return how + ", or --sessions-as " + asConversations
	case s.shapeFlag == "request-rate-range":
		return how + " or --session-rate N"
	}
	return how
}

// when returns why if something has no effect (idle), else "".
func when(idle bool, why string) string {
	if !idle {
		return ""
	}
	return why
}

// shareOf returns n of the entries of data as "2 of 3 entries"; "" for none.
func shareOf(n int, data *dataset.Facts) string {
	switch {
	case n == 0:
		return ""
	case data.Entries == 1:
		return "1 of 1 entry"
	}
	return plural.Grouped(n) + " of " + plural.Grouped(data.Entries) + " entries"
}

// noWindows returns why the levels have no measurement windows; "" if they have some.
func (s *settings) noWindows() string {
	switch {
	case s.Measure.windowed:
		return ""
	case s.Measure.Counted():
		return "with --request-count no windows are measured"
	case s.Measure.Duration > 0:
		return "with --duration there is one window"
	}
	return "the load ends by itself, so no windows are measured"
}

// noUsage returns why --include-usage changes nothing: requests cannot ask for numbers of tokens, or do so without the
// flag; "" if the flag decides.
func (s *settings) noUsage(api render.API) string {
	switch {
	case s.ServiceKind != kindOpenAI || s.template != nil: // refused
		return ""
	case !s.streams():
		return "answers are not streamed; add --streaming"
	case api.Usage() == render.UsageAlways:
		return s.endpointPath() + " always says them"
	case api.Usage() != render.UsageAsked:
		return "only chats, completions, inference/v1/generate and transcriptions can be asked for it"
	}
	return when(s.extraMember("stream_options.include_usage"), "--extra-body says it, too")
}

// noLength returns why no request asks for a length of the answer; "" if requests can.
func (s *settings) noLength(api render.API) string {
	switch {
	case s.ServiceKind != kindOpenAI:
		return ""
	case s.template != nil:
		return when(!s.template.Uses(render.PlaceholderMaxTokens), "--request-template has no {{max_tokens}}")
	}
	return when(api.TakesIDs() && api != render.Completions && s.extraMember("sampling_params"), "--extra-body sets sampling_params") + when(api.AsksNoLength(), "--endpoint "+s.Endpoint+" asks for no length")
}

// promptPlaces are the placeholders of a template that hold a prompt or a part of it.
var promptPlaces = []string{
	render.PlaceholderPrompt, render.PlaceholderTexts, render.PlaceholderMessages, render.PlaceholderContent, render.PlaceholderInputs, render.PlaceholderPictures, render.PlaceholderMarkdown,
	render.PlaceholderQuery, render.PlaceholderPassages, render.PlaceholderDocuments, render.PlaceholderInputIDs,
}

// otherPrompts returns why no request holds a prompt of the input data; "" if requests do.
func (s *settings) otherPrompts(api render.API) string {
	member := api.PromptMember()
	switch {
	case s.template != nil:
		return when(!slices.ContainsFunc(promptPlaces, s.template.Uses), "not sent: --request-template has no placeholder for them, such as {{prompt}}")
	case s.ServiceKind != kindOpenAI || member == "":
		return ""
	}
	return when(s.extraMember(member), "not sent: --extra-body sets "+member)
}

// otherModel returns why requests do not name the model; "" if they do, or if the address does.
func (s *settings) otherModel(api render.API) string {
	switch {
	case s.ServiceKind != kindOpenAI || api.ModelInPath():
		return ""
	case s.extraMember("model"):
		return "--extra-body sets model"
	}
	return when(s.template != nil && !s.template.Uses(render.PlaceholderModel), "--request-template has no {{model}}")
}

// effects applies the rules that need no input data: it notes what has no effect and adds errors for what is refused.
func (p *parser) effects(s *settings, sends bool) {
	s.sends, s.given = sends, map[string]bool{}
	for _, r := range s.rules(nil) {
		for _, flag := range r.flags {
			s.given[flag] = p.c.IsSet(flag)
		}
	}
	if len(p.errs) == 0 {
		p.errs = append(p.errs, s.applyRules(nil)...)
	}
}

// checkEffects applies all rules: it notes what has no effect with this input data, and returns a usage error for
// what is refused. data is nil for data without files.
func (s *settings) checkEffects(data *dataset.Facts) error {
	var texts []string
	for _, err := range s.applyRules(data) {
		texts = append(texts, err.Error())
	}
	if texts == nil {
		return nil
	}
	return cmdline.Usagef("%s", strings.Join(texts, "\n"))
}

// applyRules adds what has no effect to withoutEffect, each flag or part once, with the first reason. It returns
// errors for what is refused.
func (s *settings) applyRules(data *dataset.Facts) (errs []error) {
	for _, r := range s.rules(data) {
		if r.why == "" || r.load && !s.sends {
			continue
		}
		named := []string{r.part}
		if r.flags != nil {
			named = nil
			for _, flag := range r.flags {
				if s.given[flag] {
					named = append(named, "--"+flag)
				}
			}
		}
		for _, what := range named {
			switch noted := func(e export.WithoutEffect) bool { return e.What == what }; {
			case r.refused && r.flags != nil:
				errs = append(errs, fmt.Errorf("%s has no effect: %s", what, r.why))
			case r.refused:
				errs = append(errs, errors.New(r.why))
			case !slices.ContainsFunc(s.withoutEffect, noted):
				s.withoutEffect = append(s.withoutEffect, export.WithoutEffect{What: what, Where: r.where, Why: r.why})
			}
		}
	}
	return errs
}

// readsFiles reports whether the input data comes from files.
func (s *settings) readsFiles() bool {
	return len(s.InputData) > 0 && !s.madeTensors() || s.namesDataset()
}

// madeRandom reports whether tensors are random.
func (s *settings) madeRandom() bool {
	return s.ServiceKind == kindTriton && s.inputLengths == nil && !s.readsFiles() && (len(s.InputData) == 0 || s.InputData[0] == "random")
}

// drawsWithoutFiles reports whether anything but the texts of traces depends on the seed.
func (s *settings) drawsWithoutFiles() bool {
	if s.madeRandom() || s.makesPrompts() || s.Order != "" || s.Prefixes > 0 || s.CacheSalt != "" || s.starts != nil || s.ModelChoice == workload.RandomModels || s.AutoSweep || s.Interleave || s.headerHas(backend.PlaceRequest) {
		return true
	}
	if n, ok := s.outputLengths.(synth.Normal); s.outputLengths != nil && (!ok || n.Stddev > 0) {
		return true
	}
	return s.Distribution != "" && s.Distribution != load.Constant.String() || s.ServiceKind == kindTriton && !s.readsFiles() || !s.Sequence.IsZero()
}

// headerHas reports whether a header of the requests has a place.
func (s *settings) headerHas(place backend.Place) bool {
	return slices.ContainsFunc(s.Headers, func(h header) bool { return slices.Contains(h.places, place) })
}

// streams reports whether requests to OpenAI-compatible servers ask for streamed answers.
func (s *settings) streams() bool {
	info, err := wireopenai.InspectRequest(s.ExtraBody)
	return s.Streaming || err == nil && info.Stream
}

// extraUnstreamed reports whether --extra-body asks for answers that are not streamed.
func (s *settings) extraUnstreamed() bool {
	info, err := wireopenai.InspectRequest(s.ExtraBody)
	return err == nil && info.HasStream && !info.Stream
}

// lengthName returns the member of a request that holds the length of the answer; "" for an API
// whose member has a fixed name.
func (s *settings) lengthName(api render.API) string {
	if name := cmp.Or(s.extraLength, s.LengthField); name != "" {
		return name
	}
	if names := api.LengthMembers(); names != nil {
		return names[0]
	}
	return ""
}

// extraMember reports whether --extra-body has a member; "a.b" is member b of the object a.
func (s *settings) extraMember(path string) bool {
	js := []byte(s.ExtraBody)
	return !slices.ContainsFunc(strings.Split(path, "."), func(name string) bool {
		var members map[string]json.RawMessage
		if json.Unmarshal(js, &members) != nil {
			return true
		}
		var there bool
		js, there = members[name]
		return !there
	})
}
