package serving

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// arguments are the settings of the tool's command line that its report repeats. A nil
// pointer means that the setting was not given.
type arguments struct {
	client         *client // the request function of the backend
	backend        string
	streaming      *bool
	model          string
	tokenizer      string
	date           *string
	label          *string
	tag            *string
	requestRate    *float64
	maxConcurrency *int64
	noConcurrency  bool // max_concurrency was given as None
	burstiness     float64
	numPrompts     *int64
	metrics        []string
	percentiles    []float64
	goodput        []dialect.Limit
	detailed       bool
	metadata       []string
	startNS        *uint64
	durationNS     *uint64

	dataset           string
	sharegptOutputLen *int64
	randomInputLen    int64
	randomOutputLen   int64
	randomRangeRatio  float64
	serverInfo        py.Value
	acceptLength      *float64
}

// A setter takes the value of a key.
type setter func(t *Release, a *arguments, value string) error

// setters has the keys that all of these tools have.
var setters = map[string]setter{
	"backend":            (*Release).setBackend,
	"streaming":          func(_ *Release, a *arguments, v string) error { return optional(&a.streaming, v, parseBool) },
	"model":              func(_ *Release, a *arguments, v string) error { return assign(&a.model, v, parseText) },
	"model_id":           func(_ *Release, a *arguments, v string) error { return assign(&a.model, v, parseText) },
	"tokenizer":          func(_ *Release, a *arguments, v string) error { return assign(&a.tokenizer, v, parseText) },
	"tokenizer_id":       func(_ *Release, a *arguments, v string) error { return assign(&a.tokenizer, v, parseText) },
	"date":               func(_ *Release, a *arguments, v string) error { return optional(&a.date, v, parseText) },
	"request_rate":       setRequestRate,
	"max_concurrency":    setMaxConcurrency,
	"burstiness":         func(_ *Release, a *arguments, v string) error { return assign(&a.burstiness, v, parsePositive) },
	"num_prompts":        func(_ *Release, a *arguments, v string) error { return optional(&a.numPrompts, v, parseWhole) },
	"percentile_metrics": setMetrics,
	"metric_percentiles": func(_ *Release, a *arguments, v string) error { return assign(&a.percentiles, v, parsePercentiles) },
	"goodput":            func(_ *Release, a *arguments, v string) error { return assign(&a.goodput, v, parseGoodput) },
	"save_detailed":      func(_ *Release, a *arguments, v string) error { return assign(&a.detailed, v, parseBool) },
	"metadata":           func(_ *Release, a *arguments, v string) error { return assign(&a.metadata, v, parseMetadata) },
	"benchmark_start_ns": func(_ *Release, a *arguments, v string) error { return optional(&a.startNS, v, parseNS) },
	"benchmark_duration_ns": func(_ *Release, a *arguments, v string) error {
		return optional(&a.durationNS, v, parseNS)
	},
	// A note about the run, which the report does not repeat.
	"what": func(*Release, *arguments, string) error { return nil },
	"tool": func(t *Release, _ *arguments, v string) error {
		if v != t.Name {
			return fmt.Errorf("%q is not the dialect, which is %s", v, t.Name)
		}
		return nil
	},
	"clock_is": func(_ *Release, _ *arguments, v string) error {
		if v != "timestamp_ns/1e9" {
			return fmt.Errorf("%q: the clock of an export is timestamp_ns/1e9", v)
		}
		return nil
	},
}

// vllmSetters has the keys that only vLLM has.
var vllmSetters = map[string]setter{
	"label": func(_ *Release, a *arguments, v string) error { return optional(&a.label, v, parseText) },
}

// sglangSetters has the keys that only SGLang has.
var sglangSetters = map[string]setter{
	"tag":                 func(_ *Release, a *arguments, v string) error { return optional(&a.tag, v, parseText) },
	"dataset_name":        func(_ *Release, a *arguments, v string) error { return assign(&a.dataset, v, parseText) },
	"sharegpt_output_len": func(_ *Release, a *arguments, v string) error { return optional(&a.sharegptOutputLen, v, parseWhole) },
	"random_input_len":    func(_ *Release, a *arguments, v string) error { return assign(&a.randomInputLen, v, parseWhole) },
	"random_output_len":   func(_ *Release, a *arguments, v string) error { return assign(&a.randomOutputLen, v, parseWhole) },
	"random_range_ratio":  func(_ *Release, a *arguments, v string) error { return assign(&a.randomRangeRatio, v, parseFloat) },
	"server_info":         setServerInfo,
	"output_details":      func(_ *Release, a *arguments, v string) error { return assign(&a.detailed, v, parseBool) },
}

// Keys returns the keys of Config.Args that a tool knows, sorted; nil for an unknown tool.
func Keys(tool string) []string {
	for _, t := range releases {
		if t.Name == tool {
			return slices.Sorted(maps.Keys(t.setters()))
		}
	}
	return nil
}

func (t *Release) setters() map[string]setter {
	all := maps.Clone(setters)
	maps.Copy(all, t.rules.setters)
	return all
}

// defaults returns the tool's default arguments.
func (t *Release) defaults() *arguments {
	return &arguments{
		burstiness: 1, percentiles: []float64{99}, metrics: t.rules.metrics,
		dataset: "custom", randomInputLen: 1024, randomOutputLen: 1024,
	}
}

// arguments reads the hints of the file, then cfg, which overrides them: see dialect.SetArgs.
func (t *Release) arguments(run *export.Run, cfg dialect.Config) (_ *arguments, warnings []error, _ error) {
	a, known := t.defaults(), t.setters()
	warnings, err := dialect.SetArgs(run, t.Name, cfg.Args, func(key, value string) error {
		set, ok := known[key]
		if !ok {
			return fmt.Errorf("%w; %s knows %s", dialect.ErrUnknownArg, t.Name, strings.Join(Keys(t.Name), ", "))
		}
		return set(t, a, value)
	})
	if err != nil {
		return nil, nil, err
	}
	return a, warnings, t.flags(a, cfg)
}

// flags takes the settings of cfg that its Args do not have.
func (t *Release) flags(a *arguments, cfg dialect.Config) error {
	said := func(key string) bool {
		_, ok := cfg.Args[key]
		return ok
	}
	if cfg.Backend != "" && !said("backend") {
		if err := t.setBackend(a, cfg.Backend); err != nil {
			return &dialect.ArgError{Key: "backend", Msg: err.Error()}
		}
	}
	if cfg.Streaming != nil && !said("streaming") {
		a.streaming = cfg.Streaming
	}
	if cfg.Goodput != nil && !said("goodput") {
		if err := checkGoodput(cfg.Goodput); err != nil {
			return &dialect.ArgError{Key: "goodput", Msg: err.Error()}
		}
		a.goodput = lastOfEach(cfg.Goodput)
	}
	if a.tokenizer == "" {
		a.tokenizer = cfg.TokenizerName
	}
	if t.rules.finiteGoodput {
		for _, l := range a.goodput {
			if l.Value <= 0 || math.IsInf(l.Value, 0) {
				return &dialect.ArgError{Key: "goodput", Msg: fmt.Sprintf("%s:%v: sglang wants a finite number above 0", l.Metric, l.Value)}
			}
		}
	}
	return nil
}

func (t *Release) setBackend(a *arguments, value string) error {
	c, ok := t.rules.requestFunction(value)
	if !ok {
		return fmt.Errorf("%q: known here are %s", value, strings.Join(slices.Sorted(maps.Keys(t.rules.backends)), ", "))
	}
	a.client, a.backend = c, value
	return nil
}

func setRequestRate(_ *Release, a *arguments, value string) error {
	rate, err := parseFloat(value)
	if err != nil || !(rate > 0) {
		return fmt.Errorf("%q: give requests per second, or inf", value)
	}
	a.requestRate = &rate
	return nil
}

func setMaxConcurrency(_ *Release, a *arguments, value string) error {
	a.noConcurrency = isNone(value)
	return optional(&a.maxConcurrency, value, parseWhole)
}

func setMetrics(_ *Release, a *arguments, value string) error {
	all := strings.Split(value, ",")
	for _, name := range all {
		if !slices.Contains(metricNames, name) {
			return fmt.Errorf("%q: give names out of %s, with commas between", name, strings.Join(metricNames, ", "))
		}
	}
	a.metrics = all
	return nil
}

func setServerInfo(_ *Release, a *arguments, value string) error {
	a.serverInfo, a.acceptLength = py.Value{}, nil
	if isNone(value) {
		return nil
	}
	v, err := py.ParseJSON(value, py.JSON)
	if err != nil {
		return fmt.Errorf("%w; give JSON", err)
	}
	a.serverInfo = v
	if decode, ok := v.Member("decode"); ok {
		v, _ = decode.First()
	}
	states, _ := v.Member("internal_states")
	first, _ := states.First()
	length, _ := first.Member("avg_spec_accept_length")
	if n, err := strconv.ParseFloat(length.Raw(), 64); err == nil {
		a.acceptLength = &n
	}
	return nil
}
