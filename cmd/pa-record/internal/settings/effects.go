package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
	"github.com/pa-tools/pa/pkg/recorder/workload/template"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// A rule says where flags, or members of the input data, have no effect on requests and on their
// schedule. The groups of flags refuse by themselves what excludes each other; rules are about
// the rest.
type rule struct {
	// flags are the flags of the rule, each alone. A rule without flags is about the input data.
	flags []string
	// what names the part of the input data.
	what string
	// why returns why there is no effect, "" if there is one. data is nil before the input data
	// is opened, and for data without files.
	why func(s *Settings, data *dataset.Facts) string
	// refused makes a lack of effect an error.
	refused bool
	// files marks rules that need the facts of files.
	files bool
	// load marks rules about the sending of requests, which do not hold where requests are only
	// written.
	load bool
}

// rules is the table of all rules. A flag that is not in it has an effect wherever it is not
// refused.
var rules = []rule{
	// Load.
	{
		flags: []string{"measurement-mode", "measurement-interval", "measurement-request-count", "stability-percentage", "max-trials", "stop-on-unstable"},
		load:  true, why: func(s *Settings, _ *dataset.Facts) string {
			switch {
			case s.Measure.Mode != "":
				return ""
			case s.Measurement.Counted():
				return "with --request-count no windows are measured"
			case s.Measurement.Duration > 0:
				return "with --duration there is one window"
			}
			return "the load ends by itself, so that no windows are measured"
		},
	},
	{
		flags: []string{"measurement-interval"}, load: true,
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Measure.WindowRequests > 0, "it is the length of time windows; drop --measurement-mode count_windows")
		},
	},
	{
		flags: []string{"measurement-request-count"}, load: true,
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Measure.IntervalMS > 0, "it is the length of count windows; add --measurement-mode count_windows")
		},
	},
	{
		flags: []string{"max-threads"}, load: true,
		why: func(*Settings, *dataset.Facts) string { return "every request in flight has its own connection" },
	},
	{
		flags: []string{"serial-sequences"}, load: true,
		why: func(*Settings, *dataset.Facts) string {
			return "of a sequence one request is in flight at most, anyway"
		},
	},
	{
		flags: []string{"interleave"}, load: true,
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Repeat < 2, "there is one run; give --repeat")
		},
	},

	// Input.
	{
		flags: []string{"shape", "string-length", "string-data"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.ServiceKind == OpenAI, "tensors are for --service-kind triton")
		},
	},
	{
		flags: []string{"string-length", "string-data"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.ServiceKind == Triton && !s.madeRandom(), "only random tensors have made-up strings; the input data has its own")
		},
	},
	{
		flags: []string{"string-length"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.StringData != "", "--string-data gives the text")
		},
	},
	{
		flags: []string{"max-spool", "max-ratio"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(!s.readsFiles(), "no file is read; give one with --input-data")
		},
	},
	{
		flags: []string{"dataset-sampling-strategy"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Order != "" && s.ServiceKind == Triton && !s.readsFiles() && s.InputLengths == nil, "there is one entry, of made-up tensors")
		},
	},
	{
		flags: []string{"dataset-sampling-strategy"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.Order != "" && d.Entries == 1, "there is one entry")
		},
	},
	{
		flags: []string{"block-tokens"}, files: true,
		why: func(_ *Settings, d *dataset.Facts) string {
			return when(d.Blocks == 0, `no row of the input data has "hash_ids"`)
		},
	},
	{
		flags: []string{"trace-rows"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			switch {
			case d.TraceWhole+d.TraceNew+d.TraceUnknown == 0:
				return "no row of the input data is a later turn of a trace"
			case s.sends && s.Sessions == 0:
				return "turns are sent as single prompts; --session-concurrency N sends conversations"
			}
			return ""
		},
	},
	{
		flags: []string{"request-template"}, files: true,
		why: func(_ *Settings, d *dataset.Facts) string {
			return exceptions(d, d.Entries-d.Prompts, "are no prompts, and are sent as they are")
		},
	},
	{
		flags: []string{"include-usage"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.streams(), exceptions(d, d.Entries-d.Prompts, "are no prompts, and are sent as they are"))
		},
	},
	{
		flags: []string{"include-usage"},
		why: func(s *Settings, _ *dataset.Facts) string {
			api, _ := render.APIOf(s.EndpointPath())
			switch {
			case s.ServiceKind != OpenAI || s.Template != nil: // refused
				return ""
			case !s.streams():
				return "answers are not streamed; add --streaming"
			case api != render.Chat && api != render.Completions:
				return "only chats and completions can be asked for it"
			case s.extraMember("stream_options.include_usage"):
				return "--extra-body says it, too"
			}
			return ""
		},
	},
	{
		flags: []string{"backend"}, files: true,
		why: func(_ *Settings, d *dataset.Facts) string {
			return when(d.Prompts == 0, "it is about prompts, and the input data holds tensors")
		},
	},
	{
		flags: []string{"backend"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.ServiceKind == Triton && !s.readsFiles() && s.InputLengths == nil, "it is about prompts, and tensors are made up")
		},
	},
	{
		flags: []string{"random-seed"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(!s.drawsWithoutFiles() && !d.Trace, nothingRandom)
		},
	},
	{
		flags: []string{"random-seed"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(!s.readsFiles() && !s.drawsWithoutFiles(), nothingRandom)
		},
	},
	{
		flags: []string{"streaming"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Streaming && s.Template != nil && s.ServiceKind == OpenAI && !s.templateStreams, `--request-template decides, and does not say "stream": true`)
		},
	},

	// Lengths of answers.
	{
		flags: lengthFlags,
		why: func(s *Settings, _ *dataset.Facts) string {
			if s.ServiceKind != OpenAI {
				return ""
			}
			api, known := render.APIOf(s.EndpointPath())
			switch {
			case s.Template != nil:
				return when(!s.Template.Uses(template.MaxTokens), "--request-template has no {{max_tokens}}")
			case known && asksNoLength(api):
				return "--endpoint " + s.Endpoint + " asks for no length"
			}
			for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
				if s.extraMember(name) && name == s.lengthName(api) {
					return "--extra-body sets " + name
				}
			}
			return ""
		},
	},
	{
		flags: []string{"output-tokens-mean-deterministic"},
		why: func(s *Settings, _ *dataset.Facts) string {
			api, _ := render.APIOf(s.EndpointPath())
			return when(s.ServiceKind == OpenAI && s.ExactOutput && api == render.Responses, "v1/responses has no least length")
		},
	},
	{
		flags: []string{"output-tokens-stddev"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.OutputLengths == nil && !s.NoOutputLength, "--output-tokens-mean is not given")
		},
	},
	{
		flags: []string{"output-tokens", "output-tokens-mean", "output-tokens-stddev"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			if s.Template != nil && !s.Template.Uses(template.MaxTokens) {
				return "" // another rule says it
			}
			return exceptions(d, d.Lengths+d.Whole, "have a length of their own, or are whole requests")
		},
	},
	{
		flags: []string{"max-tokens-field"}, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			if s.OutputLengths == nil && d.Lengths == d.OwnFields {
				return "no request has a length that pa-record names"
			}
			return exceptions(d, d.OwnFields+d.Whole, "name the member themselves, or are whole requests")
		},
	},
	{
		flags: []string{"max-tokens-field"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(!s.readsFiles() && s.OutputLengths == nil && (s.NoOutputLength || s.InputLengths != nil), "no request has a length; add --output-tokens-mean")
		},
	},

	// Conversations.
	{
		flags: []string{"num-sessions", "session-turns-mean", "session-turns-stddev", "session-turn-delay-mean", "session-turn-delay-stddev", "session-delay-ratio"},
		load:  true, refused: true,
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.Sessions == 0, "--"+s.shapeFlag+" sends each turn as a single prompt; "+sendConversations)
		},
	},
	{
		flags: []string{"session-turn-delay-mean", "session-turn-delay-stddev", "session-turns-stddev"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(s.MadeSessions > 0 && s.TurnsMean == 1 && s.TurnsStddev == 0, "the conversations have one turn each; add --session-turns-mean")
		},
	},
	{
		flags: []string{"session-delay-ratio"},
		why: func(s *Settings, _ *dataset.Facts) string {
			return when(!s.readsFiles() && (s.MadeSessions == 0 || s.DelayMeanMS == 0 && s.DelayStddevMS == 0), "no turn has a think time")
		},
	},
	{
		flags: []string{"session-delay-ratio"}, files: true,
		why: func(_ *Settings, d *dataset.Facts) string { return when(d.Delays == 0, "no turn has a think time") },
	},

	// Members of the input data.
	{
		what: "history of conversations", files: true, load: true, refused: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.FixedSchedule && d.LaterTurns > 0, "--fixed-schedule sends "+laterTurns(d)+" without the history; "+sendConversations+`, or drop "session_id"`)
		},
	},
	{
		what: "history of conversations", files: true, load: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.Sessions == 0 && !s.FixedSchedule && d.LaterTurns > 0 && s.ServiceKind == OpenAI, laterTurns(d)+" sent without the history; "+sendConversations)
		},
	},
	{
		what: "turns after the first", files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(d.UnsentTurns > 0, fmt.Sprintf("first turns only: %s of %s are not sent; --session-concurrency N sends conversations", plural.GroupedOf(d.UnsentTurns, "later turn"), plural.GroupedOf(d.UnsentOf, "conversation")))
		},
	},
	{
		what: `"delay"`, files: true, load: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.Sessions == 0 && d.Delays > 0, fmt.Sprintf("%s of %s have a think time, which only conversations wait for (--session-concurrency N)", plural.Grouped(d.Delays), entries(d)))
		},
	},
	{
		what: `"timestamp"`, files: true, load: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(!s.FixedSchedule && d.Timed > 0 && len(s.InputData) > 0, fmt.Sprintf("%s of %s have a time, at which only --fixed-schedule sends them", plural.Grouped(d.Timed), entries(d)))
		},
	},
	{
		what: "lengths of answers in the input data", files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			if d.Lengths == 0 || s.ServiceKind != OpenAI {
				return ""
			}
			api, known := render.APIOf(s.EndpointPath())
			switch {
			case s.Template != nil:
				return when(!s.Template.Uses(template.MaxTokens), "--request-template has no {{max_tokens}}")
			case known && asksNoLength(api):
				return "--endpoint " + s.Endpoint + " asks for no length"
			}
			return ""
		},
	},
	{
		what: `"stream": false`, files: true,
		why: func(s *Settings, d *dataset.Facts) string {
			return when(s.Streaming && s.ServiceKind == OpenAI && d.Unstreamed > 0, fmt.Sprintf("--streaming wins over it in %s of %s", plural.Grouped(d.Unstreamed), entries(d)))
		},
	},
	{
		what: `"stream": false of --extra-body`,
		why: func(s *Settings, _ *dataset.Facts) string {
			info, err := wireopenai.InspectRequest(s.ExtraBody)
			return when(s.Streaming && s.Template == nil && err == nil && info.HasStream && !info.Stream, "--streaming wins over it; drop one")
		},
	},
}

// lengthFlags are the flags about the lengths of answers.
var lengthFlags = []string{"output-tokens", "output-tokens-mean", "output-tokens-stddev", "output-tokens-mean-deterministic"}

// Parts of the reasons.
const (
	nothingRandom     = "nothing in this run is random"
	sendConversations = "send conversations with --session-concurrency N"
)

// when returns why if no effect is the case.
func when(idle bool, why string) string {
	if !idle {
		return ""
	}
	return why
}

// exceptions returns why a setting has no effect on n of the entries.
func exceptions(d *dataset.Facts, n int, why string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s %s", plural.Grouped(n), entries(d), why)
}

// entries returns the number of entries for a message.
func entries(d *dataset.Facts) string {
	if d.Entries == 1 {
		return "1 entry"
	}
	return plural.Grouped(d.Entries) + " entries"
}

// asksNoLength reports whether requests of an API have no length of the answer.
func asksNoLength(api render.API) bool {
	return api.Ranks() || api == render.Embeddings || api == render.ImageRetrieval
}

// laterTurns names the later turns of the input data.
func laterTurns(d *dataset.Facts) string {
	return fmt.Sprintf("%s of %s", plural.GroupedOf(d.LaterTurns, "later turn"), plural.GroupedOf(d.Conversations, "conversation"))
}

// effects applies the rules that need no input data.
func (p *parser) effects(s *Settings, sends bool) {
	s.sends, s.given = sends, map[string]bool{}
	for _, r := range rules {
		for _, flag := range r.flags {
			s.given[flag] = p.c.IsSet(flag)
		}
	}
	if len(p.errs) > 0 {
		return
	}
	p.errs = append(p.errs, s.apply(nil)...)
}

// CheckEffects names what has no effect on the input data, or returns a usage error for it. data
// is nil for data without files.
func (s *Settings) CheckEffects(data *dataset.Facts) error {
	if data == nil {
		return nil
	}
	var texts []string
	for _, err := range s.apply(data) {
		texts = append(texts, err.Error())
	}
	if texts == nil {
		return nil
	}
	return cmdline.Usagef("%s", strings.Join(texts, "\n"))
}

// apply names what has no effect, and returns errors for what is refused. It applies the rules
// about files if data is not nil, else the others.
func (s *Settings) apply(data *dataset.Facts) (errs []error) {
	named := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		if r.files != (data != nil) || r.load && !s.sends {
			continue
		}
		given := []string{r.what}
		if r.flags != nil {
			given = nil
			for _, flag := range r.flags {
				if s.given[flag] && !named[flag] {
					given = append(given, flag)
				}
			}
		}
		if given == nil {
			continue
		}
		why := r.why(s, data)
		if why == "" {
			continue
		}
		for _, what := range given {
			named[what] = true
			if r.flags != nil {
				what = "--" + what
			}
			switch {
			case !r.refused:
				s.NoEffect(what, "%s", why)
			case r.flags != nil:
				errs = append(errs, fmt.Errorf("%s has no effect: %s", what, why))
			default:
				errs = append(errs, fmt.Errorf("%s", why))
			}
		}
	}
	return errs
}

// readsFiles reports whether the input data comes from files.
func (s *Settings) readsFiles() bool {
	return len(s.InputData) > 0 && !s.MadeTensors() || s.NamesDataset()
}

// madeRandom reports whether tensors are random.
func (s *Settings) madeRandom() bool {
	return s.ServiceKind == Triton && s.InputLengths == nil && !s.readsFiles() && (len(s.InputData) == 0 || s.InputData[0] == "random")
}

// drawsWithoutFiles reports whether anything but the texts of traces depends on the seed.
func (s *Settings) drawsWithoutFiles() bool {
	if s.madeRandom() || s.InputLengths != nil || s.Order != "" || s.Prefixes > 0 || s.CacheSalt != "" || s.ModelChoice == workload.RandomModels || s.AutoSweep || s.Interleave {
		return true
	}
	if n, ok := s.OutputLengths.(synth.Normal); s.OutputLengths != nil && (!ok || n.Stddev > 0) {
		return true
	}
	return s.Distribution != "" && s.Distribution != load.Constant.String() || s.ServiceKind == Triton && !s.readsFiles() || !s.Sequence.IsZero()
}

// streams reports whether requests to OpenAI-compatible servers ask for streamed answers.
func (s *Settings) streams() bool {
	info, err := wireopenai.InspectRequest(s.ExtraBody)
	return s.Streaming || err == nil && info.Stream
}

// lengthName returns the member of a request that holds the length of the answer.
func (s *Settings) lengthName(api render.API) string {
	switch {
	case s.LengthField != "":
		return s.LengthField
	case api == render.Responses:
		return "max_output_tokens"
	}
	return "max_tokens"
}

// extraMember reports whether --extra-body has a member; "a.b" is member b of the object a.
func (s *Settings) extraMember(path string) bool {
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
