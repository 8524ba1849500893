package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
)

// A Rule is a flag that a scenario sets.
type Rule struct {
	Flag  string `json:"flag"`
	Value string `json:"value,omitempty"` // "": the flag must not be given
	Why   string `json:"why"`
	// Default lets the command line give another value.
	Default bool `json:"default,omitempty"`
}

// A Scenario is the rules of a benchmark.
type Scenario struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules"`

	// Shortest is the shortest valid measurement.
	Shortest time.Duration `json:"-"`
	// MaxOverflow is the largest valid part of the requests that are longer than the context of the model.
	MaxOverflow float64 `json:"-"`
	// Wraps lets sessions be played several times.
	Wraps bool `json:"allow_dataset_wrap,omitempty"`
}

// Parse returns the scenario with a name.
func Parse(name string) (*Scenario, error) {
	if name != "agentx" {
		return nil, fmt.Errorf("expected agentx, not %q", name)
	}
	return agentX(), nil
}

// agentX returns the rules of InferenceX's AgentX.
func agentX() *Scenario {
	const lengths = "answers have the recorded lengths, with ignore_eos"
	return &Scenario{
		Name: "agentx", Shortest: 900 * time.Second, MaxOverflow: 0.01,
		Rules: []Rule{
			{Flag: "streaming", Value: "true", Why: "answers are streamed"},
			{Flag: "output-tokens", Why: lengths},
			{Flag: "output-tokens-mean", Why: lengths},
			{Flag: "output-tokens-stddev", Why: lengths},
			{Flag: "session-delays", Value: "recorded", Why: "delays count from the end of the answer"},
			{Flag: "session-delay-ratio", Why: "delays are the recorded ones"},
			{Flag: "session-idle-cap", Value: "10s", Why: "no gap of a tree is longer"},
			{Flag: "cache-bust", Value: "first-turn-prefix", Why: "each play has prompts of its own"},
			{Flag: "session-start-ratio", Value: "0:1", Why: "the first sessions begin anywhere within their recordings", Default: true},
			{Flag: "duration", Value: "30m0s", Why: "at least 15m0s", Default: true},
			{Flag: "request-count", Why: "the time ends the measurement"},
			{Flag: "random-seed", Value: "0", Why: "the starts can be drawn again", Default: true},
			{Flag: "on-session-failure", Value: "continue", Why: "only an overflow of the context ends a session"},
		},
	}
}

// Flags are the flags of a command line.
type Flags interface {
	// Given reports whether a flag is given, Value what it is.
	Given(flag string) bool
	Value(flag string) string
	Set(flag, value string) error
}

// Apply sets the flags of the rules. The error names all flags that contradict them.
func (s *Scenario) Apply(flags Flags) error {
	var errs []error
	for _, r := range s.Rules {
		switch given := flags.Given(r.Flag); {
		case given && r.Value == "":
			errs = append(errs, fmt.Errorf("--scenario %s: --%s contradicts it: %s; drop it", s.Name, r.Flag, r.Why))
		case given && !r.Default && flags.Value(r.Flag) != r.Value:
			errs = append(errs, fmt.Errorf("--scenario %s: --%s %s contradicts it: %s (%s); drop it", s.Name, r.Flag, flags.Value(r.Flag), r.Why, r.Value))
		case !given && r.Value != "":
			if err := flags.Set(r.Flag, r.Value); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Check reports why a run could not be valid: of levels sessions at a time, each for a duration.
func (s *Scenario) Check(levels []int, duration time.Duration) error {
	switch {
	case len(levels) != 1:
		return fmt.Errorf("--scenario %s measures one number of sessions at a time: give --session-concurrency N, without a list, a range or a search", s.Name)
	case duration < s.Shortest:
		return fmt.Errorf("--scenario %s: --duration %v is too short; give at least %v", s.Name, duration, s.Shortest)
	}
	return nil
}

// CheckData reports why data with a number of sessions cannot be measured with slots sessions at a time.
func (s *Scenario) CheckData(sessions, slots int) error {
	if slots > sessions && !s.Wraps {
		return fmt.Errorf("--scenario %s: the input data has only %s for %s at a time; give fewer, or --allow-dataset-wrap to play them several times at once", s.Name, plural.GroupedOf(sessions, "session"), plural.Grouped(slots))
	}
	return nil
}

// Judge says whether the result of a run is valid. err is the error of the run.
func (s *Scenario) Judge(res *recorder.Result, err error) *export.Submission {
	v := &export.Submission{Scenario: s.Name}
	invalid := func(bad bool, format string, args ...any) {
		if bad {
			v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
		}
	}
	invalid(err != nil, "the run ended early: %v", err)
	invalid(err == nil && res.Interrupted, "the run was interrupted")
	invalid(len(res.Levels) == 0, "nothing was measured")
	for i := range res.Levels {
		l := &res.Levels[i]
		ended := l.OK + l.Failed + l.Warmup
		invalid(float64(l.Overflowed) > s.MaxOverflow*float64(ended), "%s of %s did not fit into the context of the model, more than %g %%", plural.Grouped(l.Overflowed), plural.GroupedOf(ended, "request"), 100*s.MaxOverflow)
		if c := l.Sessions; c != nil {
			invalid(c.Unprimed > 0, "%s before the measurement failed", plural.GroupedOf(c.Unprimed, "request"))
		}
		if p := l.Prompts; p != nil {
			invalid(!s.Wraps && p.Conversations > p.Of, "the input data has only %s, and began again (--allow-dataset-wrap allows it)", plural.GroupedOf(p.Of, "session"))
		}
		measured := time.Duration(0)
		if n := len(l.Windows); n > 0 {
			measured = time.Duration(l.Windows[n-1].EndNS - l.Windows[0].StartNS) //nolint:gosec // a time within a run
		}
		invalid(measured < s.Shortest, "only %s were measured, less than %s", plural.Time(measured.Round(time.Millisecond)), plural.Time(s.Shortest))
	}
	v.Valid = len(v.Reasons) == 0
	return v
}
