package frontend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/pyfmt"
)

// Tokenizers that GenAI-Perf takes when none is named.
const (
	llamaTokenizer = "hf-internal-testing/llama-tokenizer"
	gpt2Tokenizer  = "gpt2"
)

// Kinds of services, and the address that GenAI-Perf takes for Triton's.
const (
	kindTriton = "triton"
	kindOpenAI = "openai"
	grpcURL    = "localhost:8001"
)

// places of a template, see --request-template.
const (
	placeModel       = "{{model}}"
	placePrompt      = "{{prompt}}"
	placeTexts       = "{{texts}}"
	placeMessages    = "{{messages}}"
	placeContent     = "{{content}}"
	placeInputs      = "{{inputs}}"
	placePictures    = "{{pictures}}"
	placeMarkdown    = "{{markdown}}"
	placeQuery       = "{{query}}"
	placePassages    = "{{passages}}"
	placeDocuments   = "{{documents}}"
	placeMaxTokens   = "{{max_tokens}}"
	placeInputIDs    = "{{input_ids}}"
	placeInputLength = "{{input_length}}"
)

// trtllmMaxTokens is what GenAI-Perf asks of TensorRT-LLM, which must be told a
// length, when none is wanted.
const trtllmMaxTokens = 256

// GenAIPerf is NVIDIA GenAI-Perf: 24.03, 24.04, and its last release, whose
// command lines begin with a subcommand.
func GenAIPerf() *Tool {
	return &Tool{
		Name:  "genai-perf",
		Usage: "take a command line of GenAI-Perf",
		About: `Takes the command lines of GenAI-Perf 24.03, 24.04 and its last release
(profile and analyze), each with its flags, defaults and requests, prints the
pa-record command that it stands for, and runs that. profile and analyze are of
the last release. Without them it is 24.04, unless there is a flag that only
24.03 has; --release 24.03 or 24.04 says it. Each has its own page:
genai-perf --release 24.03 --help, genai-perf profile --help, genai-perf analyze
--help. What follows -- is passed to pa-record: -- --dry-run.`,
		Examples: []cmdline.Example{
			{Does: "a model of Triton, with the defaults of GenAI-Perf 24.04", Line: "pa-record genai-perf -m gpt2 --backend vllm --streaming -u localhost:8001"},
			{Does: "the same by the last release, for a chat API", Line: "pa-record genai-perf profile -m gpt2 --endpoint-type chat --streaming \\\n  --isl 200 --osl 100 --concurrency 8 -u localhost:8000"},
			{Does: "print what a command line of 24.03 stands for, and send nothing", Line: "pa-record genai-perf -m gpt2 --output-format vllm --concurrency 1 -- --dry-run"},
		},
		releases: []*release{genaiPerf2403(), genaiPerf2404(), genaiPerfProfile(), genaiPerfAnalyze()},
		choose:   chooseGenAIPerf,
	}
}

// elsewhere are subcommands that are the work of pa-analyze, or nobody's.
var elsewhere = map[string]string{
	"compare":              "give the exports to pa-analyze diff",
	"config":               "give the flags, or pa-record --config FILE",
	"create-template":      "pa-record --config takes any flags, as YAML",
	"process-export-files": "give the exports to pa-analyze report or pa-analyze merge",
}

// chooseGenAIPerf finds the release by the subcommand, which only later releases
// have, else by which release knows all flags. When several do it is the last of
// them.
func chooseGenAIPerf(t *Tool, args []string) (*release, []string, error) {
	wanted, args, err := takeRelease(t, args)
	if err != nil {
		return nil, nil, err
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name := args[0]
		if instead, ok := elsewhere[name]; ok {
			return nil, nil, fmt.Errorf("%s is not supported: %s", name, instead)
		}
		for _, r := range t.releases {
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
		for _, r := range t.releases {
			if r.name == wanted {
				return r, args, nil
			}
		}
	}
	old, later := t.releases[0], t.releases[1]
	lacksOld, cutOld := old.unknown(args)
	lacksLater, cutLater := later.unknown(args)
	switch {
	// --input-data is a flag of 24.03, and --input-dataset of 24.04 cut short.
	case len(lacksLater) == 0 && (!cutLater || cutOld || len(lacksOld) > 0):
		return later, args, nil
	case len(lacksOld) == 0:
		return old, args, nil
	}
	lacksLast, _ := t.releases[2].unknown(args)
	if err := knownToNone(join(old.options, later.options), lacksOld, lacksLater, lacksLast); err != nil {
		return nil, nil, err
	}
	if len(lacksLast) == 0 {
		return nil, nil, fmt.Errorf("%s: not a flag of 24.03 or 24.04; put profile in front for the last release", lacksLater[0])
	}
	return nil, nil, fmt.Errorf("the flags are of no one release: 24.03 lacks %s, 24.04 lacks %s", strings.Join(lacksOld, ", "), strings.Join(lacksLater, ", "))
}

// knownToNone returns an error for the flags that every release lacks; all are the
// options of those whose names may have been meant.
func knownToNone(all options, lacks ...[]string) error {
	var errs []error
	for _, name := range lacks[0] {
		if !slices.ContainsFunc(lacks, func(names []string) bool { return !slices.Contains(names, name) }) {
			errs = append(errs, all.unknown(name))
		}
	}
	return errors.Join(errs...)
}

// takeRelease takes --release out of args.
func takeRelease(_ *Tool, args []string) (wanted string, rest []string, err error) {
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

// Options that releases share.
var (
	optModel     = option{names: []string{"-m", "--model"}, arg: "MODEL", group: "Endpoint", usage: "the model to ask", fate: same}
	optURL       = option{names: []string{"-u", "--url"}, arg: "URL", group: "Endpoint", usage: "the server's address", fate: same}
	optStreaming = option{names: []string{"--streaming"}, group: "Endpoint", usage: "ask for streamed answers", fate: body, note: `the member "stream" of each request; Triton is always asked over a gRPC stream`}
	optExport    = option{names: []string{"--profile-export-file"}, arg: "FILE", initial: "profile_export.json", group: "Output", usage: "where the export goes", fate: same}
	optSeed      = option{names: []string{"--random-seed"}, arg: "N", kind: natural, initial: "0", group: "Input", usage: "seed of everything random", fate: same}
	optRate      = option{names: []string{"--request-rate"}, arg: "R", kind: above, group: "Profiling", usage: "send R requests a second", fate: alias, note: "--request-rate-range"}
	optLoops     = option{names: []string{"--concurrency"}, arg: "N", kind: positive, group: "Profiling", usage: "keep N requests in flight", fate: alias, note: "--concurrency-range"}
	optExtra     = option{names: []string{"--extra-inputs"}, arg: "NAME:VALUE", repeat: true, group: "Input", usage: "a further member of each request", fate: body}
	optVersion   = option{names: []string{"--version"}, group: "Other", usage: "print the version of pa-record", fate: same}
)

// genaiPerf is a command line of GenAI-Perf on its way to pa-record's.
type genaiPerf struct {
	*builder
	a       *arguments
	release string // as dialects are called: "24.03"
	kind    string // of the service
	stream  bool
	request pattern
}

// begin adds who is asked.
func (g *genaiPerf) begin(model string) {
	g.set("-m", model)
	g.flag("--async")
	g.set("--service-kind", g.kind)
	if g.kind == kindTriton {
		g.set("-i", "grpc")
		g.flag("--streaming") // of Triton; whether tokens are is in the request
		return
	}
	g.set("-i", "http")
	if g.stream {
		g.flag("--streaming")
	}
}

// url adds the server.
func (g *genaiPerf) url() {
	switch {
	case g.a.has("--url"):
		g.set("-u", g.a.text("--url"))
	case g.kind == kindTriton:
		g.set("-u", grpcURL)
	}
}

// trtllmShapes adds what perf_analyzer is told of TensorRT-LLM's inputs.
func (g *genaiPerf) trtllmShapes() {
	g.set("--shape", "max_tokens:1")
	g.set("--shape", "text_input:1")
}

// load adds the load level, and its hint.
func (g *genaiPerf) load(initial string) {
	concurrency, rate := g.a.text("--concurrency"), g.a.has("--request-rate")
	switch {
	case rate && g.a.has("--concurrency"):
		g.errorf("--concurrency and --request-rate exclude each other; drop one")
	case rate:
		value := pyfmt.Repr(g.a.number("--request-rate"))
		g.set("--request-rate-range", value)
		g.hint("experiment", "request_rate:"+value)
	default:
		if concurrency == "" {
			concurrency = initial
		}
		if concurrency == "" {
			g.errorf("no load; give --concurrency or --request-rate")
			return
		}
		g.set("--concurrency-range", concurrency)
		g.hint("experiment", "concurrency:"+concurrency)
	}
}

// windows adds how long is measured: until three windows agree.
func (g *genaiPerf) windows() {
	g.set("--measurement-interval", g.a.text("--measurement-interval"))
	g.set("--stability-percentage", strings.TrimSuffix(pyfmt.Repr(g.a.number("--stability-percentage")), ".0"))
}

// synthetic adds n prompts of random text, 0 if their number follows from
// conversations; option is the one of the mean.
func (g *genaiPerf) synthetic(option string, mean, stddev, n int) {
	g.spread(option, mean, stddev)
	g.setWhole("--synthetic-input-tokens-mean", mean)
	g.setWhole("--synthetic-input-tokens-stddev", stddev)
	if n > 0 {
		g.setWhole("--num-dataset-entries", n)
	}
}

// export adds the file, which GenAI-Perf replaces without asking, and the
// reports that it makes of it. folder is made if it is not there, "" is none.
func (g *genaiPerf) output(folder, file string) {
	file = g.export(folder, file)
	g.hint("dialect", "genai-perf-"+g.release)
	if g.kind == kindOpenAI {
		g.hint("streaming", fmt.Sprint(g.stream))
	}
	stem := strings.TrimSuffix(file, path.Ext(file)) + "_genai_perf"
	g.Reports = append(g.Reports, []string{"report", file}, []string{"report", file, "--format", "csv", "-o", stem + ".csv"})
	if g.release == "latest" {
		g.Reports = append(g.Reports, []string{"report", file, "--format", "json", "-o", stem + ".json"})
	}
}

// send adds what each request is made of.
func (g *genaiPerf) send() { g.set("--request-template", g.request.String()) }

// An extra is one of --extra-inputs.
type extra struct {
	name  string
	value json.RawMessage
}

// parseExtra reads NAME:VALUE by the rules of 24.04 and later: true and false,
// digits, and digits with a point are what they look like, all else is text.
func parseExtra(s string) (extra, error) {
	name, value, ok := strings.Cut(s, ":")
	switch {
	case !ok || strings.Contains(value, ":"):
		return extra{}, fmt.Errorf("--extra-inputs %s: expected NAME:VALUE, with no other colon", clip(s))
	case name == "" || value == "":
		return extra{}, fmt.Errorf("--extra-inputs %s: expected NAME:VALUE, neither empty", clip(s))
	}
	return extra{name, pythonValue(value)}, nil
}

// pythonValue returns a value of --extra-inputs as JSON.
func pythonValue(s string) json.RawMessage {
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	switch lower := strings.ToLower(s); {
	case lower == "true" || lower == "false":
		return json.RawMessage(lower)
	case digits(s):
		if s = strings.TrimLeft(s, "0"); s == "" {
			s = "0"
		}
		return json.RawMessage(s)
	case strings.Count(s, ".") == 1 && digits(strings.Replace(s, ".", "", 1)):
		f, err := parseNumber(s)
		if err == nil {
			return json.RawMessage(pyfmt.Repr(f))
		}
	}
	return literalText(s)
}

// extras reads --extra-inputs; one may not be given twice.
func (g *genaiPerf) extras(read func(string) ([]extra, error)) []extra {
	var all []extra
	seen := map[string]bool{}
	for _, s := range g.a.values("--extra-inputs") {
		some, err := read(s)
		if err != nil {
			g.errs = append(g.errs, err)
			continue
		}
		for _, e := range some {
			if seen[e.name] {
				g.errorf("--extra-inputs %s: given twice", clip(e.name))
			}
			seen[e.name] = true
			all = append(all, e)
		}
	}
	return all
}

// parseExtras is parseExtra of the last release, which also takes a name
// without a value, which is null, and a JSON object.
func parseExtras(s string) ([]extra, error) {
	if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") {
		return parseExtraObject(s)
	}
	if !strings.Contains(s, ":") && s != "" {
		return []extra{{s, json.RawMessage("null")}}, nil
	}
	e, err := parseExtra(s)
	return []extra{e}, err
}

func parseExtraObject(s string) ([]extra, error) {
	d := json.NewDecoder(strings.NewReader(s))
	fail := func(err error) error { return fmt.Errorf("--extra-inputs %s: not a JSON object (%w)", clip(s), err) }
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	var all []extra
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fail(err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fail(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, fail(err)
		}
		all = append(all, extra{fmt.Sprint(key), literal(compact.Bytes())})
	}
	if _, err := d.Token(); err != nil {
		return nil, fail(err)
	}
	return all, nil
}
