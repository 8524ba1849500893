package frontend

import (
	"fmt"
	"path"
	"strings"

	"github.com/pa-tools/pa/internal/py"
)

// Default tokenizers of GenAI-Perf.
const (
	llamaTokenizer = "hf-internal-testing/llama-tokenizer"
	gpt2Tokenizer  = "gpt2"
)

// Kinds of services, and the default address of Triton.
const (
	kindTriton = "triton"
	kindOpenAI = "openai"
	grpcURL    = "localhost:8001"
)

// trtllmMaxTokens is the output length that GenAI-Perf requests from TensorRT-LLM
// when the user gives none: TensorRT-LLM requires one.
const trtllmMaxTokens = 256

// Options that several releases share.
var (
	optModel       = option{names: []string{"-m", "--model"}, arg: "MODEL", group: "Endpoint", usage: "the model to ask", support: same}
	optURL         = option{names: []string{"-u", "--url"}, arg: "URL", group: "Endpoint", usage: "the server's address", support: same}
	optStreaming   = option{names: []string{"--streaming"}, group: "Endpoint", usage: "ask for streamed answers", support: body, note: `the member "stream" of each request; Triton is always asked over a gRPC stream`}
	optExport      = option{names: []string{"--profile-export-file"}, arg: "FILE", defaultValue: "profile_export.json", group: "Output", usage: "where the export goes", support: same}
	optSeed        = option{names: []string{"--random-seed"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "seed of everything random", support: same}
	optRate        = option{names: []string{"--request-rate"}, arg: "R", kind: above, group: "Profiling", usage: "send R requests a second", support: alias, note: "--request-rate-range"}
	optConcurrency = option{names: []string{"--concurrency"}, arg: "N", kind: positive, group: "Profiling", usage: "keep N requests in flight", support: alias, note: "--concurrency-range"}
	optExtra       = option{names: []string{"--extra-inputs"}, arg: "NAME:VALUE", repeat: true, group: "Input", usage: "a further member of each request", support: body}
	optVersion     = option{names: []string{"--version"}, group: "Other", usage: "print the version of pa-record", support: same}
)

// genaiPerf translates a command line of GenAI-Perf.
type genaiPerf struct {
	*builder
	a       *arguments
	release string // name of the dialect: "24.03"
	kind    string // kind of service: kindTriton or kindOpenAI
	stream  bool
	request requestTemplate
}

// target adds the model and the protocol.
func (g *genaiPerf) target(model string) {
	g.set("-m", model)
	g.flag("--async")
	g.set("--service-kind", g.kind)
	if g.kind == kindTriton {
		g.set("-i", "grpc")
		g.flag("--streaming") // of the gRPC call; the request itself says whether tokens are streamed
		return
	}
	g.set("-i", "http")
	if g.stream {
		g.flag("--streaming")
	}
}

// url adds the address of the server.
func (g *genaiPerf) url() {
	switch {
	case g.a.has("--url"):
		g.set("-u", g.a.text("--url"))
	case g.kind == kindTriton:
		g.set("-u", grpcURL)
	}
}

// trtllmShapes adds the shapes that GenAI-Perf passes to perf_analyzer for TensorRT-LLM. option is the flag that chose it.
func (g *genaiPerf) trtllmShapes(option string) {
	g.set("--shape", "max_tokens:1")
	g.set("--shape", "text_input:1")
	g.advice = [][2]string{{"--shape max_tokens:", option + " " + g.a.text(option) + " sends max_tokens:"}}
}

// load adds the load level and its hint. initial is the default concurrency.
func (g *genaiPerf) load(initial string) {
	concurrency, rate := g.a.text("--concurrency"), g.a.has("--request-rate")
	switch {
	case rate && g.a.has("--concurrency"):
		g.errorf("--concurrency and --request-rate exclude each other; drop one")
	case rate:
		value := py.Repr(g.a.number("--request-rate"))
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

// windows adds the settings of measurement windows: measure until three of them agree.
func (g *genaiPerf) windows() {
	g.set("--measurement-interval", g.a.text("--measurement-interval"))
	g.set("--stability-percentage", strings.TrimSuffix(py.Repr(g.a.number("--stability-percentage")), ".0"))
}

// synthetic adds n prompts of random text. With n = 0 their number follows from the
// conversations. option is the flag of the mean.
func (g *genaiPerf) synthetic(option string, mean, stddev, n int) {
	g.checkStddev(option, mean, stddev)
	g.setWhole("--synthetic-input-tokens-mean", mean)
	g.setWhole("--synthetic-input-tokens-stddev", stddev)
	if n > 0 {
		g.setWhole("--num-dataset-entries", n)
	}
}

// addTemplate adds the request template.
func (g *genaiPerf) addTemplate() { g.set("--request-template", g.request.String()) }

// output adds the export file, the hints and the reports. pa-record creates folder;
// "" means the current one.
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
