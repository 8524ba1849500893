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

// setters returns the setters of all keys of Config.Args that the tool knows. They store the values in a.
func (t *release) setters(a *arguments) map[string]dialect.Setter {
	all := map[string]dialect.Setter{
		"backend":               func(value string) error { return t.setBackend(a, value) },
		"streaming":             optional(&a.streaming, parseBool),
		"model":                 dialect.Assign(&a.model, parseText),
		"model_id":              dialect.Assign(&a.model, parseText),
		"tokenizer":             dialect.Assign(&a.tokenizer, parseText),
		"tokenizer_id":          dialect.Assign(&a.tokenizer, parseText),
		"date":                  optional(&a.date, parseText),
		"request_rate":          a.setRequestRate,
		"max_concurrency":       a.setMaxConcurrency,
		"burstiness":            dialect.Assign(&a.burstiness, parsePositive),
		"num_prompts":           optional(&a.numPrompts, parseWhole),
		"percentile_metrics":    a.setMetrics,
		"metric_percentiles":    dialect.Assign(&a.percentiles, parsePercentiles),
		"goodput":               dialect.Assign(&a.goodput, parseGoodput),
		"save_detailed":         dialect.Assign(&a.detailed, parseBool),
		"metadata":              dialect.Assign(&a.metadata, parseMetadata),
		"benchmark_start_ns":    optional(&a.startNS, parseNS),
		"benchmark_duration_ns": optional(&a.durationNS, parseNS),
		// A note about the run, which the report does not repeat.
		"what": func(string) error { return nil },
		"tool": func(value string) error {
			if value != t.Name {
				return fmt.Errorf("%q is not the dialect, which is %s", value, t.Name)
			}
			return nil
		},
		"clock_is": func(value string) error {
			if value != "timestamp_ns/1e9" {
				return fmt.Errorf("%q: the clock of an export is timestamp_ns/1e9", value)
			}
			return nil
		},
	}
	if more := t.rules.setters; more != nil {
		maps.Copy(all, more(a))
	}
	return all
}

// vllmSetters returns the setters of the keys that only vLLM has.
func vllmSetters(a *arguments) map[string]dialect.Setter {
	return map[string]dialect.Setter{"label": optional(&a.label, parseText)}
}

// sglangSetters returns the setters of the keys that only SGLang has.
func sglangSetters(a *arguments) map[string]dialect.Setter {
	return map[string]dialect.Setter{
		"tag":                 optional(&a.tag, parseText),
		"dataset_name":        dialect.Assign(&a.dataset, parseText),
		"sharegpt_output_len": optional(&a.sharegptOutputLen, parseWhole),
		"random_input_len":    dialect.Assign(&a.randomInputLen, parseWhole),
		"random_output_len":   dialect.Assign(&a.randomOutputLen, parseWhole),
		"random_range_ratio":  dialect.Assign(&a.randomRangeRatio, parseFloat),
		"server_info":         a.setServerInfo,
		"output_details":      dialect.Assign(&a.detailed, parseBool),
	}
}

// Keys returns the keys of Config.Args that a tool knows, sorted; nil for an unknown tool.
func Keys(tool string) []string {
	for _, t := range releases {
		if t.Name == tool {
			return slices.Sorted(maps.Keys(t.setters(t.defaults())))
		}
	}
	return nil
}

// defaults returns the tool's default arguments.
func (t *release) defaults() *arguments {
	return &arguments{
		burstiness: 1, percentiles: []float64{99}, metrics: t.rules.metrics,
		dataset: "custom", randomInputLen: 1024, randomOutputLen: 1024,
	}
}

// arguments reads the hints of the file, then cfg, which overrides them: see dialect.SetArgs.
func (t *release) arguments(run *export.Run, cfg dialect.Config) (_ *arguments, warnings []error, _ error) {
	a := t.defaults()
	known := t.setters(a)
	warnings, err := dialect.SetArgs(run, t.Name, cfg.Args, func(key, value string) error {
		set, ok := known[key]
		if !ok {
			return fmt.Errorf("%w; %s knows %s", dialect.ErrUnknownArg, t.Name, strings.Join(Keys(t.Name), ", "))
		}
		return set(value)
	})
	if err != nil {
		return nil, nil, err
	}
	return a, warnings, t.flags(a, cfg)
}

// flags takes the settings of cfg that its Args do not have.
func (t *release) flags(a *arguments, cfg dialect.Config) error {
	isArg := func(key string) bool {
		_, ok := cfg.Args[key]
		return ok
	}
	if cfg.Backend != "" && !isArg("backend") {
		if err := t.setBackend(a, cfg.Backend); err != nil {
			return &dialect.ArgError{Key: "backend", Msg: err.Error()}
		}
	}
	if cfg.Streaming != nil && !isArg("streaming") {
		a.streaming = cfg.Streaming
	}
	if cfg.Goodput != nil && !isArg("goodput") {
		if err := checkGoodput(cfg.Goodput); err != nil {
			return &dialect.ArgError{Key: "goodput", Msg: err.Error()}
		}
		a.goodput = cfg.Goodput
	}
	if a.tokenizer == "" {
		a.tokenizer = cfg.TokenizerName
	}
	if t.rules.finiteGoodput {
		for _, l := range a.goodput {
			if l.Value <= 0 || math.IsInf(l.Value, 0) {
				return &dialect.ArgError{Key: "goodput", Msg: fmt.Sprintf("%s:%v: expected a finite number above 0, as sglang does", l.Metric, l.Value)}
			}
		}
	}
	return nil
}

func (t *release) setBackend(a *arguments, value string) error {
	c, ok := t.rules.requestFunction(value)
	if !ok {
		return fmt.Errorf("%q: expected one of %s", value, strings.Join(slices.Sorted(maps.Keys(t.rules.backends)), ", "))
	}
	a.client, a.backend = c, value
	return nil
}

func (a *arguments) setRequestRate(value string) error {
	rate, err := parseFloat(value)
	if err != nil || !(rate > 0) {
		return fmt.Errorf("%q: give requests per second, or inf", value)
	}
	a.requestRate = &rate
	return nil
}

func (a *arguments) setMaxConcurrency(value string) error {
	a.noConcurrency = isNone(value)
	return optional(&a.maxConcurrency, parseWhole)(value)
}

func (a *arguments) setMetrics(value string) error {
	all := strings.Split(value, ",")
	for _, name := range all {
		if !slices.Contains(metricNames, name) {
			return fmt.Errorf("%q: give names out of %s, with commas between", name, strings.Join(metricNames, ", "))
		}
	}
	a.metrics = all
	return nil
}

// setServerInfo sets server_info, and the acceptance length that it holds.
func (a *arguments) setServerInfo(value string) error {
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
