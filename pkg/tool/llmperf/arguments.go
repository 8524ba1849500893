package llmperf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// arguments holds the arguments of the tool's command line.
type arguments struct {
	uri, protocol, model string
	concurrency          []string
	wallNS               map[string]uint64 // duration by level, used instead of its windows
}

// keys maps each key of Config.Args to the function that reads its value.
var keys = map[string]func(v *release, a *arguments, value string) error{
	"uri":      func(_ *release, a *arguments, value string) error { a.uri = value; return nil },
	"model":    func(_ *release, a *arguments, value string) error { a.model = value; return nil },
	"protocol": setProtocol,
	"concurrency": func(_ *release, a *arguments, value string) error {
		a.concurrency = strings.Split(value, ",")
		for _, c := range a.concurrency {
			if n, err := strconv.Atoi(c); err != nil || n < 1 {
				return fmt.Errorf("%q: give levels such as 1,4,8", value)
			}
		}
		return nil
	},
	// The report does not need the others: it takes their facts from the requests.
	"tokenizer":       func(*release, *arguments, string) error { return nil },
	"what":            func(*release, *arguments, string) error { return nil },
	"prompts":         isWhole,
	"client_setup_ns": isWhole,
	"tool": func(v *release, _ *arguments, value string) error {
		if value != v.Name {
			return fmt.Errorf("%q is not the dialect, which is %s", value, v.Name)
		}
		return nil
	},
}

// wallKey followed by a level is the key of the level's duration.
const wallKey = "wall_ns "

func isWhole(_ *release, _ *arguments, value string) error {
	_, err := wholeNS(value)
	return err
}

func setProtocol(_ *release, a *arguments, value string) error {
	a.protocol = strings.ToLower(value)
	if a.protocol != "grpc" && a.protocol != "http" {
		return fmt.Errorf("%q: give grpc or http", value)
	}
	return nil
}

func wholeNS(value string) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: give a whole number", value)
	}
	return n, nil
}

// Keys returns the keys of Config.Args, sorted.
func Keys() []string {
	all := append(slices.Collect(maps.Keys(keys)), wallKey+"LEVEL")
	slices.Sort(all)
	return all
}

// set stores the value of a key. It returns dialect.ErrUnknownArg if the key is not known.
func (a *arguments) set(v *release, key, value string) error {
	if level, ok := strings.CutPrefix(key, wallKey); ok {
		n, err := wholeNS(value)
		a.wallNS[level] = n
		return err
	}
	set, ok := keys[key]
	if !ok {
		return fmt.Errorf("%w; llm_perf knows %s", dialect.ErrUnknownArg, strings.Join(Keys(), ", "))
	}
	return set(v, a, value)
}

// arguments reads the run's metadata, its hints and cfg; the later win: see dialect.SetArgs.
func (v *release) arguments(run *export.Run, cfg dialect.Config) (_ *arguments, warnings []error, _ error) {
	a := &arguments{uri: "localhost:8001", model: "ensemble", wallNS: map[string]uint64{}}
	if m := run.Meta; m != nil {
		if m.URL != "" {
			a.uri = m.URL
		}
		if m.Model != "" {
			a.model = m.Model
		}
		a.protocol = m.Protocol
	}
	warnings, err := dialect.SetArgs(run, v.Name, cfg.Args, func(key, value string) error { return a.set(v, key, value) })
	if err != nil {
		return nil, nil, err
	}
	return a, warnings, nil
}
