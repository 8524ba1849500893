package frontend

import (
	"slices"
	"strconv"
	"strings"
)

// genaiPerfProfile returns the command "genai-perf profile".
func genaiPerfProfile() *release {
	return &release{
		name: "latest profile", options: latestOptions(),
		translate: func(b *builder, a *arguments) {
			l := newLatest(b, a)
			l.translate(func() string { return l.profileLoad() })
		},
	}
}

// genaiPerfAnalyze returns the command "genai-perf analyze", which runs profile for
// each value of a sweep. pa-record makes one run with one export of it.
func genaiPerfAnalyze() *release {
	return &release{
		name: "latest analyze",
		options: slices.Concat(options{
			{names: []string{"--sweep-type"}, arg: "WHAT", choices: []string{"batch_size", "concurrency", "num_dataset_entries", "input_sequence_length", "request_rate"}, defaultValue: "concurrency", group: "Analyze", usage: "what to vary: concurrency or request_rate", support: alias, note: "--concurrency-range, --request-rate-range; others are refused"},
			{names: []string{"--sweep-range"}, arg: "MIN:MAX[:STEP]", defaultValue: "1:1024", group: "Analyze", usage: "the values from MIN to MAX; concurrency takes powers of two and no STEP", support: alias, note: "--concurrency-range, --request-rate-range"},
			{names: []string{"--sweep-list"}, arg: "N,N,…", group: "Analyze", usage: "the values, instead of --sweep-range", support: alias, note: "--concurrency-range, --request-rate-range"},
		}, latestOptions()),
		translate: func(b *builder, a *arguments) {
			l := newLatest(b, a)
			l.translate(func() string { return l.analyzeLoad() })
		},
	}
}

// latest translates a command line of the last release of GenAI-Perf, 0.0.16.
type latest struct {
	genaiPerf
	model    string
	endpoint endpointType
	payload  string // the trace of --input-file payload:FILE; "" if there is none
}

func newLatest(b *builder, a *arguments) *latest {
	l := &latest{
		genaiPerf: genaiPerf{builder: b, a: a, release: "latest", kind: kindOpenAI, stream: a.has("--streaming")},
		endpoint:  findEndpointType(a.text("--endpoint-type")),
	}
	if l.endpoint.path == "" {
		l.kind = kindTriton
	}
	if models := a.values("--model"); len(models) > 0 {
		l.model = models[0]
	}
	if file, ok := strings.CutPrefix(a.text("--input-file"), "payload:"); ok {
		l.payload = file
	}
	return l
}

// translate adds all flags. load adds the flags of the load and returns its name, which
// is part of the name of the run's folder.
func (l *latest) translate(load func() string) {
	a := l.a
	l.check()
	l.target(l.model)
	if a.has("--verbose") {
		l.flag("-v")
	}
	l.furtherModels()
	if l.endpoint.path != "" {
		endpoint := strings.ReplaceAll(l.endpoint.path, "{model}", l.model)
		if a.has("--endpoint") {
			endpoint = strings.TrimLeft(a.text("--endpoint"), " /")
		}
		l.set("--endpoint", endpoint)
	}
	l.url()
	for _, h := range a.values("--header") {
		l.set("-H", h)
	}
	if l.endpoint.name == "kserve" && a.text("--backend") == "tensorrtllm" {
		l.trtllmShapes("--backend")
	}
	if n := a.whole("--warmup-request-count"); n > 0 {
		l.setWhole("--warmup-request-count", n)
	}
	stimulus := load()
	l.inputs()
	l.buildRequest()
	l.addTemplate()
	l.artifacts(stimulus)
}

// furtherModels adds all models but the first, and the selection strategy.
func (l *latest) furtherModels() {
	if !l.hasSeveralModels() {
		return
	}
	for _, name := range l.a.values("--model")[1:] {
		l.set("-m", name)
	}
	l.set("--model-selection-strategy", l.a.text("--model-selection-strategy"))
}

func (l *latest) hasSeveralModels() bool { return len(l.a.values("--model")) > 1 }

// check reports flags that contradict each other or are not supported.
func (l *latest) check() {
	a := l.a
	l.refuse(l.model == "", "no model; give its name with -m")
	l.refuse(l.endpoint.alternative != "", "--endpoint-type %s is not supported: %s", l.endpoint.name, l.endpoint.alternative)
	if kind := a.text("--service-kind"); kind != "" && kind != l.kind {
		l.errorf("--service-kind %s does not fit --endpoint-type %s", kind, l.endpoint.name)
	}
	l.refuse(a.has("--backend") && l.endpoint.name != "kserve", "--backend belongs to --endpoint-type kserve")
	l.checkOutputTokens(l.limitsOutput(), "--endpoint-type kserve")
	l.refuse(l.stream && l.endpoint.unstreamed, "--streaming does not fit --endpoint-type %s", l.endpoint.name)
	if n := a.whole("--batch-size-text"); n > 1 {
		l.checkBatch(n)
	}
	l.refuse(l.endpoint.name == "rankings" && !l.hasRankingInput(), "--endpoint-type rankings needs --input-file synthetic:queries,passages, or a folder with queries.jsonl and passages.jsonl")
	if l.endpoint.name == "tensorrtllm_engine" {
		l.notef("the requests go to a Triton server with the engine; GenAI-Perf runs it in its own process")
	}
	if l.limitsOutput() {
		l.checkStddev("--output-tokens-mean", a.whole("--output-tokens-mean"), a.whole("--output-tokens-stddev"))
	}
	if s := a.number("--stability-percentage"); s != 0 && !(s >= 1 && s <= 999) {
		l.errorf("--stability-percentage %v: must be from 1 to 999", s)
	}
	l.refuse(a.text("--tokenizer-revision") != "main", "--tokenizer-revision %s: only main is supported; give --tokenizer a folder with the other revision", clip(a.text("--tokenizer-revision")))
	l.refuse(a.has("--measurement-interval") && a.has("--request-count"), "--measurement-interval and --request-count exclude each other; drop one")
	if a.has("--server-metrics-url") {
		l.notef("--server-metrics-url: GPU metrics are not recorded")
	}
}

// checkBatch reports endpoint types that allow only one text in a request.
func (l *latest) checkBatch(n int) {
	switch l.endpoint.name {
	case "chat", "multimodal", "vision", "kserve", "tensorrtllm_engine":
		l.errorf("--batch-size-text %d: --endpoint-type %s takes one text in a request, in GenAI-Perf too", n, l.endpoint.name)
	}
	l.refuse(l.payload != "", "--batch-size-text %d: a trace has one text in a request", n)
}

// limitsOutput reports whether the requests ask for an output length. In this release
// 0 means "not given", for every number.
func (l *latest) limitsOutput() bool { return l.a.whole("--output-tokens-mean") != 0 }

// wholeOrDefault returns an integer option, and its default for 0.
func (l *latest) wholeOrDefault(name string) int {
	if n := l.a.whole(name); n != 0 {
		return n
	}
	n, err := strconv.Atoi(l.a.options.must(name).defaultValue)
	if err != nil {
		panic(err) // a mistake in the option table
	}
	return n
}

// artifacts adds the export, in the folder that GenAI-Perf names after the run.
func (l *latest) artifacts(stimulus string) {
	a, file := l.a, l.a.text("--profile-export-file")
	l.refuse(strings.Contains(file, "/"), "--profile-export-file %s: a name, without folders; those go into --artifact-dir", clip(file))
	kind := "openai-" + l.endpoint.name
	switch l.endpoint.name {
	case "kserve":
		kind = "triton-" + a.text("--backend")
		l.hint("backend", a.text("--backend"))
	case "tensorrtllm_engine":
		kind = l.endpoint.name
		l.hint("endpoint_type", l.endpoint.name)
	default:
		l.hint("endpoint_type", l.endpoint.name)
	}
	folder := strings.ReplaceAll(l.model, "/", "_")
	if l.hasSeveralModels() {
		folder += "_multi"
	}
	folder += "-" + kind
	if stimulus != "" {
		folder += "-" + stimulus
	}
	folder = strings.TrimSuffix(a.text("--artifact-dir"), "/") + "/" + folder
	l.output(folder, file)
	l.hint("goodput", strings.Join(a.values("--goodput"), " "))
	if a.has("--generate-plots") {
		l.Reports = append(l.Reports, []string{"html", folder + "/" + file, "-o", folder + "/plots.html"})
	}
}
