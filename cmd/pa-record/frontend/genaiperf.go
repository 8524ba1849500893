package frontend

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pa-tools/pa/internal/cmdline"
)

// GenAIPerf returns the front end of NVIDIA GenAI-Perf. It covers 24.03, 24.04, and
// the last release, whose command lines begin with a subcommand.
func GenAIPerf() *Tool {
	return &Tool{
		Name:  "genai-perf",
		Usage: "take a command line of GenAI-Perf",
		About: `Takes the command lines of GenAI-Perf 24.03, 24.04 and its last release
(profile and analyze), each with its flags, defaults and requests, prints the
pa-record command that it stands for, and runs that. A command line with
profile or analyze belongs to the last release. Any other belongs to 24.04, or
to 24.03 if it has a flag that only 24.03 has; --release 24.03 or 24.04
decides it. Each release has its own help: genai-perf --release 24.03 --help,
genai-perf profile --help, genai-perf analyze --help. Flags after -- are
pa-record's: -- --dry-run.`,
		Examples: []cmdline.Example{
			{Does: "a model of Triton, with the defaults of GenAI-Perf 24.04", Line: "pa-record genai-perf -m gpt2 --backend vllm --streaming -u localhost:8001"},
			{Does: "the same by the last release, for a chat API", Line: "pa-record genai-perf profile -m gpt2 --endpoint-type chat --streaming \\\n  --isl 200 --osl 100 --concurrency 8 -u localhost:8000"},
			{Does: "print what a command line of 24.03 stands for, and send nothing", Line: "pa-record genai-perf -m gpt2 --output-format vllm --concurrency 1 -- --dry-run"},
		},
		releases: sync.OnceValue(func() []*release {
			return []*release{genaiPerf2403(), genaiPerf2404(), genaiPerfProfile(), genaiPerfAnalyze()}
		}),
		choose: chooseGenAIPerf,
	}
}

// unsupportedSubcommands names the replacement of subcommands that pa-record lacks.
var unsupportedSubcommands = map[string]string{
	"compare":              "give the exports to pa-analyze diff",
	"config":               "give the flags, or pa-record --config FILE",
	"create-template":      "pa-record --config takes any flags, as YAML",
	"process-export-files": "give the exports to pa-analyze report or pa-analyze merge",
}

// chooseGenAIPerf finds the release by its subcommand, which only the last release
// has. Without a subcommand it takes the newer of 24.03 and 24.04 that knows all
// flags.
func chooseGenAIPerf(t *Tool, args []string) (*release, []string, error) {
	wanted, args, err := takeRelease(args)
	if err != nil {
		return nil, nil, err
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name := args[0]
		if instead, ok := unsupportedSubcommands[name]; ok {
			return nil, nil, fmt.Errorf("%s is not supported: %s", name, instead)
		}
		for _, r := range t.releases() {
			if r.name == "latest "+name {
				if wanted != "" && wanted != "latest" {
					return nil, nil, fmt.Errorf("--release %s has no subcommand %s", wanted, name)
				}
				return r, args[1:], nil
			}
		}
		return nil, nil, fmt.Errorf("unknown subcommand %q; expected profile or analyze", clip(name))
	}
	switch wanted {
	case "latest":
		return nil, nil, fmt.Errorf("--release latest needs a subcommand, profile or analyze")
	case "":
	default:
		for _, r := range t.releases() {
			if r.name == wanted {
				return r, args, nil
			}
		}
	}
	old, later := t.releases()[0], t.releases()[1]
	lacksOld, cutOld := old.unknown(args)
	lacksLater, cutLater := later.unknown(args)
	switch {
	// --input-data is a flag of 24.03, and --input-dataset of 24.04 cut short.
	case len(lacksLater) == 0 && (!cutLater || cutOld || len(lacksOld) > 0):
		return later, args, nil
	case len(lacksOld) == 0:
		return old, args, nil
	}
	lacksLast, _ := t.releases()[2].unknown(args)
	if err := unknownToAll(slices.Concat(old.options, later.options), lacksOld, lacksLater, lacksLast); err != nil {
		return nil, nil, err
	}
	if len(lacksLast) == 0 {
		return nil, nil, fmt.Errorf("%s: not a flag of 24.03 or 24.04; put profile in front for the last release", lacksLater[0])
	}
	return nil, nil, fmt.Errorf("no release has all of these flags: 24.03 lacks %s, 24.04 lacks %s", strings.Join(lacksOld, ", "), strings.Join(lacksLater, ", "))
}

// unknownToAll returns an error for the flags that every release lacks. lacks holds
// the unknown flags of each release; suggestions come from all.
func unknownToAll(all options, lacks ...[]string) error {
	var errs []error
	for _, name := range lacks[0] {
		if !slices.ContainsFunc(lacks, func(names []string) bool { return !slices.Contains(names, name) }) {
			errs = append(errs, all.unknown(name))
		}
	}
	return errors.Join(errs...)
}

// takeRelease removes --release from args and returns its value.
func takeRelease(args []string) (wanted string, rest []string, err error) {
	const flag = "--release"
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if name != flag {
			continue
		}
		next := i + 1
		if !joined {
			if next == len(args) {
				return "", nil, fmt.Errorf("%s needs a value", flag)
			}
			value = args[next]
			next++
		}
		rest = append(append(rest, args[:i]...), args[next:]...)
		switch value {
		case "24.03", "24.04", "latest":
			return value, rest, nil
		}
		return "", nil, fmt.Errorf("%s %s: expected 24.03, 24.04 or latest", flag, clip(value))
	}
	return "", args, nil
}
