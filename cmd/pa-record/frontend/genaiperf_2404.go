package frontend

import (
	"fmt"
	"strings"
)

// openAIPaths maps --endpoint-type of 24.04 to a path.
var openAIPaths = map[string]string{"chat": "v1/chat/completions", "completions": "v1/completions"}

// genaiPerf2404 returns GenAI-Perf 0.0.2dev, of the 24.04 release.
func genaiPerf2404() *release {
	return &release{
		name: "24.04",
		options: options{
			optModel, optURL,
			{names: []string{"--service-kind"}, arg: "KIND", choices: []string{kindTriton, kindOpenAI}, defaultValue: kindTriton, group: "Endpoint", usage: "the kind of server", support: same},
			{names: []string{"--endpoint-type"}, arg: "TYPE", choices: []string{"chat", "completions"}, group: "Endpoint", usage: "the API, of OpenAI-compatible servers", support: alias, note: "--endpoint"},
			{names: []string{"--endpoint"}, arg: "PATH", group: "Endpoint", usage: "send to this path instead of the API's", support: same},
			{names: []string{"--backend"}, arg: "NAME", choices: []string{"trtllm", "vllm"}, defaultValue: "trtllm", group: "Endpoint", usage: "the model's backend, of Triton", support: body},
			optStreaming, optExtra,
			{names: []string{"--prompt-source"}, arg: "SOURCE", choices: []string{"synthetic", "dataset"}, defaultValue: "synthetic", group: "Input", usage: "where prompts come from", support: alias, note: "dataset is --dataset"},
			{names: []string{"--input-dataset"}, arg: "NAME", choices: []string{"openorca", "cnn_dailymail"}, defaultValue: "openorca", group: "Input", usage: "with --prompt-source dataset, the data set", support: alias, note: "--dataset"},
			{names: []string{"--num-prompts"}, arg: "N", kind: positive, defaultValue: "100", group: "Input", usage: "number of different prompts", support: alias, note: "--num-dataset-entries"},
			{names: []string{"--synthetic-input-tokens-mean"}, arg: "N", kind: positive, defaultValue: "550", group: "Input", usage: "mean length of synthetic prompts", support: same},
			{names: []string{"--synthetic-input-tokens-stddev"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "its standard deviation", support: same},
			{names: []string{"--output-tokens-mean"}, arg: "N", kind: whole, defaultValue: "-1", group: "Input", usage: "mean length asked of the answers", support: same},
			{names: []string{"--output-tokens-stddev"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "its standard deviation", support: same},
			{names: []string{"--output-tokens-mean-deterministic"}, group: "Input", usage: "ask Triton for answers not shorter than that", support: body},
			optSeed,
			{names: []string{"--tokenizer"}, arg: "NAME", defaultValue: llamaTokenizer, group: "Input", usage: "the tokenizer that counts lengths", support: same},
			optConcurrency, optRate,
			{names: []string{"-p", "--measurement-interval"}, arg: "MS", kind: positive, defaultValue: "10000", group: "Profiling", usage: "length of a window", support: same},
			{names: []string{"-s", "--stability-percentage"}, arg: "PCT", kind: number, defaultValue: "999", group: "Profiling", usage: "by how much the last three windows may differ", support: same},
			optExport,
			{names: []string{"-v", "--verbose"}, group: "Other", usage: "print each window", support: same},
			optVersion,
		},
		translate: func(b *builder, a *arguments) {
			g := &genaiPerf{builder: b, a: a, release: "24.04", kind: a.text("--service-kind"), stream: a.has("--streaming")}
			g.translate2404()
		},
	}
}

func (g *genaiPerf) translate2404() {
	a, api := g.a, g.a.text("--endpoint-type")
	g.check2404(api)
	g.target(a.text("--model"))
	if g.kind == kindOpenAI {
		endpoint := openAIPaths[api]
		if a.has("--endpoint") {
			endpoint = strings.TrimLeft(a.text("--endpoint"), " /")
		}
		g.set("--endpoint", endpoint)
	}
	g.url()
	backend := a.text("--backend")
	if g.kind == kindTriton && backend == "trtllm" {
		g.trtllmShapes("--backend")
	}
	g.load("1")
	g.windows()
	if a.has("--verbose") {
		g.flag("--verbose")
	}
	n := a.whole("--num-prompts")
	if a.text("--prompt-source") == "dataset" {
		g.set("--dataset", a.text("--input-dataset"))
		g.setWhole("--num-dataset-entries", n)
	} else {
		g.synthetic("--synthetic-input-tokens-mean", a.whole("--synthetic-input-tokens-mean"), a.whole("--synthetic-input-tokens-stddev"), n)
	}
	if g.limitsOutput() {
		g.set("--output-tokens-mean", a.text("--output-tokens-mean"))
		g.set("--output-tokens-stddev", a.text("--output-tokens-stddev"))
	}
	g.setWhole("--random-seed", a.whole("--random-seed"))
	g.tokenizer(a.text("--tokenizer"), a.has("--tokenizer"))
	extras := g.extras(func(s string) ([]extra, error) {
		e, err := parseExtra(s)
		return []extra{e}, err
	})
	switch {
	case g.kind == kindOpenAI:
		g.openAI2404(api, extras)
	case backend == "vllm":
		g.vllm2404(extras)
	default:
		g.trtllm2404(extras)
	}
	g.addTemplate()
	folder := ""
	if !a.has("--profile-export-file") {
		folder = "artifacts/data" // where 24.04 moves it
	}
	g.output(folder, a.text("--profile-export-file"))
	g.hint("endpoint_type", api)
	if g.kind == kindTriton {
		g.hint("backend", map[string]string{"trtllm": "tensorrtllm", "vllm": "vllm"}[backend])
	}
}

// check2404 reports flags that contradict each other.
func (g *genaiPerf) check2404(api string) {
	a := g.a
	g.refuse(!a.has("--model"), "no model; give its name with -m")
	switch {
	case g.kind == kindOpenAI && api == "":
		g.errorf("--service-kind openai needs --endpoint-type")
	case g.kind == kindTriton && api != "":
		g.errorf("--endpoint-type belongs to --service-kind openai")
	}
	g.checkOutputTokens(g.limitsOutput(), "--service-kind triton")
	if g.limitsOutput() {
		g.checkStddev("--output-tokens-mean", a.whole("--output-tokens-mean"), a.whole("--output-tokens-stddev"))
	}
}

// checkOutputTokens reports flags about output lengths where the requests ask for none, and exact lengths
// of a server that cannot give them; triton is the option that asks for one that can.
func (g *genaiPerf) checkOutputTokens(limits bool, triton string) {
	exact := g.a.has("--output-tokens-mean-deterministic")
	g.refuse(!limits && g.a.whole("--output-tokens-stddev") != 0, "--output-tokens-stddev needs --output-tokens-mean")
	g.refuse(!limits && exact, "--output-tokens-mean-deterministic needs --output-tokens-mean")
	g.refuse(limits && exact && g.kind != kindTriton, "--output-tokens-mean-deterministic belongs to %s", triton)
}

// limitsOutput reports whether the requests ask for an output length.
func (g *genaiPerf) limitsOutput() bool { return g.a.whole("--output-tokens-mean") != -1 }

func (g *genaiPerf) openAI2404(api string, extras []extra) {
	r := &g.request
	if api == "completions" {
		r.set("prompt", placeholderPrompt)
	} else {
		r.set("messages", placeholderMessages)
	}
	r.set("model", placeholderModel)
	if g.stream {
		r.set("stream", true)
	}
	if g.limitsOutput() {
		r.set("max_tokens", placeholderMaxTokens)
	}
	for _, e := range extras {
		r.set(e.name, e.value)
	}
}

func (g *genaiPerf) vllm2404(extras []extra) {
	r := &g.request
	r.set("text_input", []string{placeholderPrompt})
	if g.stream {
		r.set("stream", []bool{true})
	}
	if g.limitsOutput() {
		r.set("sampling_parameters", []string{samplingParameters(g.a.has("--output-tokens-mean-deterministic"), ", ", ": ")})
	}
	for _, e := range extras {
		r.set(e.name, array(e.value))
	}
	if !r.has("exclude_input_in_output") {
		r.set("exclude_input_in_output", []bool{true})
	}
}

func (g *genaiPerf) trtllm2404(extras []extra) {
	r := &g.request
	r.set("text_input", []string{placeholderPrompt})
	given := false
	for _, e := range extras {
		given = given || e.name == "max_tokens"
	}
	if !given || g.limitsOutput() {
		r.set("max_tokens", []int{trtllmMaxTokens})
	}
	if g.stream {
		r.set("stream", []bool{true})
	}
	if g.limitsOutput() {
		if g.a.has("--output-tokens-mean-deterministic") {
			r.set("min_length", []string{placeholderMaxTokens})
		}
		r.set("max_tokens", []string{placeholderMaxTokens})
	}
	for _, e := range extras {
		r.set(e.name, array(e.value))
	}
}

// samplingParameters returns the JSON text that tells the vLLM backend the output
// length. As in GenAI-Perf, its numbers are strings.
func samplingParameters(exact bool, comma, colon string) string {
	member := func(name string) string { return fmt.Sprintf(`"%s"%s"%s"`, name, colon, placeholderMaxTokens) }
	s := member("max_tokens")
	if exact {
		s += comma + member("min_tokens")
	}
	return "{" + s + "}"
}
