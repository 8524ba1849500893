package sim

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A LoadEncoder returns what encodes with the tokenizer in a file or folder: see [Config.Encode].
type LoadEncoder func(path string) (func(dst []uint32, text string) []uint32, error)

// ParseAddress returns the configuration that an address such as sim://?ttft=20ms&seed=7 sets. Its keys are the keys of
// [Settings]. The error begins with the address, and names the key whose value is wrong or unknown.
func ParseAddress(address string, load LoadEncoder) (cfg Config, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", address, err)
	}
	if u.Host != "" || strings.Trim(u.Path, "/") != "" {
		return cfg, fmt.Errorf("%s: a simulated server has no address; write sim:// or sim://?ttft=20ms&itl=5ms", address)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", address, err)
	}
	s := Settings{Config: &cfg, LoadEncoder: load}
	for _, key := range slices.Sorted(maps.Keys(q)) {
		for _, v := range q[key] {
			if err := s.Set(key, key, v); err != nil {
				return cfg, fmt.Errorf("%s: %w", address, err)
			}
		}
	}
	return cfg, nil
}

// Settings sets the fields of a configuration that shape an answer by their keys, which are the flags of the simulator with
// _ for -. [Settings.Set] has the list.
type Settings struct {
	Config      *Config
	LoadEncoder LoadEncoder // for the key tokenizer

	// What was said of the prefix cache: the setting that turned it off, and the first that turned it on; "" for none.
	off, on string
}

// Set sets a field by its key. name is what an error calls the key. A setting of the prefix cache turns it on, so that there is
// none beside one that turns it off.
func (s *Settings) Set(key, name, value string) (err error) {
	cfg := s.Config
	switch key {
	case "ttft":
		cfg.TTFT, err = plan.ParseDelay(value)
	case "itl":
		cfg.ITL, err = plan.ParseDelay(value)
	case "output_tokens":
		cfg.OutputTokens, err = plan.ParseLength(value)
	case "prefill_per_token":
		cfg.PrefillPerToken, err = parseSetting(value, time.ParseDuration, "a duration such as 5ms")
	case "prefix_cache":
		var on bool
		switch on, err = parseSetting(value, strconv.ParseBool, "true or false"); {
		case on:
			s.prefixCache(name)
		case err == nil:
			s.off = name + "=" + value
		}
	case "cache_tokens":
		s.prefixCache(name).Tokens, err = parseSetting(value, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }, "a whole number")
	case "cache_block":
		s.prefixCache(name).BlockTokens, err = parseSetting(value, strconv.Atoi, "a whole number")
	case "cache_prompts_only":
		s.prefixCache(name).PromptsOnly, err = parseSetting(value, strconv.ParseBool, "true or false")
	case "tokenizer":
		cfg.Encode, err = s.LoadEncoder(value)
	case "tokens_per_event":
		cfg.TokensPerEvent, err = parseSetting(value, strconv.Atoi, "a whole number")
	case "max_concurrency":
		cfg.MaxConcurrency, err = parseSetting(value, strconv.Atoi, "a whole number")
	case "seed":
		cfg.Seed, err = parseSetting(value, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, "a whole number that is not negative")
	case "kernel_sends":
		cfg.KernelSends, err = parseSetting(value, strconv.ParseBool, "true or false")
	case "vocabulary":
		cfg.Vocabulary, err = plan.ParseVocabulary(value)
	case "triton_model":
		var m TritonModel
		m, err = ParseTritonModel(value)
		cfg.TritonModels = append(cfg.TritonModels, m)
	case "fault":
		var rule plan.FaultRule
		rule, err = plan.ParseFaultRule(value)
		cfg.Faults = append(cfg.Faults, rule)
	default:
		return fmt.Errorf("unknown setting %q of the simulated server; it has ttft, itl, output_tokens, prefill_per_token, tokenizer, prefix_cache, cache_tokens, cache_block, cache_prompts_only, tokens_per_event, max_concurrency, seed, kernel_sends, vocabulary, triton_model and fault", key)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case s.off != "" && s.on != "":
		return fmt.Errorf("%s and %s exclude each other: the second turns the prefix cache on; drop one", s.off, s.on)
	}
	return nil
}

// prefixCache returns the prefix cache, which the server has from then on because of the setting called name.
func (s *Settings) prefixCache(name string) *PrefixCache {
	if s.on == "" {
		s.on = name
	}
	if s.Config.PrefixCache == nil {
		s.Config.PrefixCache = &PrefixCache{}
	}
	return s.Config.PrefixCache
}

// parseSetting parses a value; the error names the expected kind of value.
func parseSetting[T any](value string, parse func(string) (T, error), expected string) (T, error) {
	v, err := parse(value)
	if err != nil {
		return v, fmt.Errorf("%q is not %s", value, expected)
	}
	return v, nil
}
