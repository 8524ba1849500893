package frontend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An endpointType is a kind of service of --endpoint-type.
type endpointType struct {
	name string
	path string // {model} is the model's name; "" is Triton over gRPC
	// whole says that answers are not streamed.
	whole bool
	// pictures and sounds are what requests can hold beside texts.
	pictures, sounds bool
	// instead says what to do, of kinds that pa-record does not send.
	instead string
}

var endpointTypes = []endpointType{
	{name: "kserve"},
	{name: "chat", path: "v1/chat/completions"},
	{name: "completions", path: "v1/completions"},
	{name: "embeddings", path: "v1/embeddings", whole: true},
	{name: "multimodal", path: "v1/chat/completions", pictures: true, sounds: true},
	{name: "vision", path: "v1/chat/completions", pictures: true, sounds: true},
	{name: "generate", path: "v2/models/{model}/generate"},
	{name: "huggingface_generate", path: ".", pictures: true},
	{name: "rankings", path: "v1/ranking", whole: true},
	{name: "nvclip", path: "v1/embeddings", whole: true, pictures: true},
	{name: "image_retrieval", path: "v1/infer", whole: true, pictures: true},
	{name: "template", instead: "give the template to pa-record --request-template"},
	{name: "tensorrtllm_engine"},
	{name: "dynamic_grpc", instead: "only Triton's own gRPC service is supported"},
}

func endpointTypeNames() []string {
	var names []string
	for _, e := range endpointTypes {
		names = append(names, e.name)
	}
	return names
}

func findEndpointType(name string) endpointType {
	for _, e := range endpointTypes {
		if e.name == name {
			return e
		}
	}
	return endpointType{} // choices are checked
}

// latestOptions are those of profile and analyze, of GenAI-Perf 0.0.16dev, whose
// command line has been the same since 25.06. --service-kind ended with 25.03.
func latestOptions() options {
	return join(options{
		{names: []string{"-m", "--model"}, arg: "MODEL", list: true, group: "Endpoint", usage: "the model to ask, or several", fate: same},
		{names: []string{"--model-selection-strategy"}, arg: "HOW", choices: []string{"round_robin", "random"}, initial: "round_robin", group: "Endpoint", usage: "how prompts get one of several models", fate: same},
		{names: []string{"--service-kind"}, arg: "KIND", choices: []string{kindTriton, kindOpenAI}, group: "Endpoint", usage: "the kind of server, up to 25.03", fate: unneeded, note: "it follows from --endpoint-type; one that does not fit is an error"},
		{names: []string{"--endpoint-type"}, arg: "TYPE", choices: endpointTypeNames(), initial: "kserve", group: "Endpoint", usage: "the API to ask; not template and dynamic_grpc", fate: alias, note: "--service-kind, --endpoint; template and dynamic_grpc are refused"},
		{names: []string{"--endpoint"}, arg: "PATH", group: "Endpoint", usage: "another path than that of the API", fate: same},
		{names: []string{"--backend"}, arg: "NAME", choices: []string{"tensorrtllm", "vllm"}, initial: "tensorrtllm", group: "Endpoint", usage: "the model's backend, of Triton", fate: body},
		optURL, optStreaming,
		{names: []string{"--server-metrics-url", "--server-metrics-urls"}, arg: "URL", list: true, group: "Endpoint", usage: "where the GPUs' figures are", fate: unneeded, note: "not recorded; a note says so"},
		{names: []string{"--grpc-method"}, arg: "METHOD", group: "Endpoint", usage: "of --endpoint-type dynamic_grpc", fate: refused, note: "only Triton's own gRPC service is supported"},

		{names: []string{"--input-file"}, arg: "FILE", group: "Input", usage: "prompts as JSON lines, a folder of them, payload:FILE for a trace, or synthetic:queries,passages", fate: alias, note: "--input-data; of synthetic:… the number of prompts"},
		{names: []string{"--num-dataset-entries", "--num-prompts"}, arg: "N", kind: positive, initial: "100", group: "Input", usage: "number of different prompts", fate: same},
		{names: []string{"--synthetic-input-tokens-mean", "--isl"}, arg: "N", kind: natural, initial: "550", group: "Input", usage: "mean length of synthetic prompts", fate: same},
		{names: []string{"--synthetic-input-tokens-stddev"}, arg: "N", kind: natural, initial: "0", group: "Input", usage: "its standard deviation", fate: same},
		{names: []string{"--output-tokens-mean", "--osl"}, arg: "N", kind: natural, group: "Input", usage: "mean length asked of the answers", fate: same},
		{names: []string{"--output-tokens-stddev"}, arg: "N", kind: natural, initial: "0", group: "Input", usage: "its standard deviation", fate: same},
		{names: []string{"--output-tokens-mean-deterministic"}, group: "Input", usage: "ask Triton for answers not shorter than that", fate: body},
		{names: []string{"--num-prefix-prompts"}, arg: "N", kind: natural, initial: "0", group: "Input", usage: "number of prompts to put in front of others", fate: same},
		{names: []string{"--prefix-prompt-length"}, arg: "N", kind: natural, initial: "100", group: "Input", usage: "their length", fate: same},
		optSeed,
		{names: []string{"--extra-inputs"}, arg: "NAME:VALUE", repeat: true, group: "Input", usage: "further members of each request, or a JSON object", fate: body},
		{names: []string{"-H", "--header"}, arg: "'NAME:VALUE'", repeat: true, group: "Input", usage: "a header of every request", fate: same},
		{names: []string{"-b", "--batch-size", "--batch-size-text"}, arg: "N", kind: natural, initial: "1", group: "Input", usage: "texts of a request, passages of a ranking", fate: alias, note: "--batch-size-text; chat, multimodal and Triton's models take one, as in GenAI-Perf"},
		{names: []string{"-g", "--goodput"}, arg: "NAME:VALUE", list: true, group: "Input", usage: "objectives of the report", fate: hint},
	}, mediaOptions(), options{
		{names: []string{"--tokenizer"}, arg: "NAME", group: "Input", usage: "the tokenizer that lengths are counted by (default: the model's)", fate: same},
		{names: []string{"--tokenizer-revision"}, arg: "NAME", initial: "main", group: "Input", usage: "its revision; only main", fate: unneeded, note: "main is the only one supported"},
		{names: []string{"--tokenizer-trust-remote-code"}, group: "Input", usage: "", fate: unneeded, note: "no code is run"},

		optLoops, optRate,
		{names: []string{"--fixed-schedule"}, arg: "ANY", group: "Profiling", usage: "send at the times of the trace; any value says yes", fate: same},
		{names: []string{"--session-concurrency"}, arg: "N", kind: positive, group: "Profiling", usage: "keep N conversations going", fate: same},
		{names: []string{"-p", "--measurement-interval"}, arg: "MS", kind: natural, group: "Profiling", usage: "measure in windows of this length", fate: same},
		{names: []string{"--request-count", "--num-requests"}, arg: "N", kind: natural, group: "Profiling", usage: "send N requests (default: 10, or twice the concurrency)", fate: same},
		{names: []string{"--warmup-request-count", "--num-warmup-requests"}, arg: "N", kind: natural, initial: "0", group: "Profiling", usage: "send N requests before", fate: same},
		{names: []string{"-s", "--stability-percentage"}, arg: "PCT", kind: number, initial: "999", group: "Profiling", usage: "by how much the last three windows may differ", fate: same},
		{names: []string{"--num-sessions"}, arg: "N", kind: natural, initial: "0", group: "Profiling", usage: "number of conversations", fate: same},
		{names: []string{"--session-turns-mean"}, arg: "N", kind: number, initial: "1", group: "Profiling", usage: "mean number of their turns", fate: same},
		{names: []string{"--session-turns-stddev"}, arg: "N", kind: number, initial: "0", group: "Profiling", usage: "its standard deviation", fate: same},
		{names: []string{"--session-turn-delay-mean"}, arg: "MS", kind: number, initial: "0", group: "Profiling", usage: "mean time between turns", fate: same},
		{names: []string{"--session-turn-delay-stddev"}, arg: "MS", kind: number, initial: "0", group: "Profiling", usage: "its standard deviation", fate: same},
		{names: []string{"--session-delay-ratio"}, arg: "R", kind: number, initial: "1", group: "Profiling", usage: "multiply the delays of a trace", fate: same},

		optExport,
		{names: []string{"--artifact-dir"}, arg: "DIR", initial: "artifacts", group: "Output", usage: "where the folder of the run goes", fate: alias, note: "--profile-export-file"},
		{names: []string{"--checkpoint-dir"}, arg: "DIR", initial: "checkpoint", group: "Output", usage: "", fate: unneeded, note: "every run is made anew"},
		{names: []string{"--enable-checkpointing"}, group: "Output", usage: "", fate: unneeded, note: "every run is made anew"},
		{names: []string{"--generate-plots"}, group: "Output", usage: "pictures", fate: hint, note: "pa-analyze html"},
		{names: []string{"-v", "--verbose"}, group: "Other", usage: "print the report of perf_analyzer, too", fate: same},
	})
}

// mediaOptions are of synthetic pictures and sounds.
func mediaOptions() options {
	const g = "Input"
	return options{
		{names: []string{"--image-width-mean"}, arg: "PX", kind: natural, initial: "0", group: g, usage: "mean width of synthetic pictures; 0 makes none", fate: same},
		{names: []string{"--image-width-stddev"}, arg: "PX", kind: natural, initial: "0", group: g, usage: "its standard deviation", fate: same},
		{names: []string{"--image-height-mean"}, arg: "PX", kind: natural, initial: "0", group: g, usage: "mean height; 0 makes none", fate: same},
		{names: []string{"--image-height-stddev"}, arg: "PX", kind: natural, initial: "0", group: g, usage: "its standard deviation", fate: same},
		{names: []string{"--image-format"}, arg: "FORMAT", choices: []string{"png", "jpeg"}, initial: "png", group: g, usage: "how they are encoded", fate: same},
		{names: []string{"--batch-size-image"}, arg: "N", kind: natural, initial: "1", group: g, usage: "pictures of a request", fate: same},
		{names: []string{"--audio-length-mean"}, arg: "S", kind: number, initial: "0", group: g, usage: "mean length of synthetic sounds; 0 makes none", fate: same},
		{names: []string{"--audio-length-stddev"}, arg: "S", kind: number, initial: "0", group: g, usage: "its standard deviation", fate: same},
		{names: []string{"--audio-format"}, arg: "FORMAT", choices: []string{"wav", "mp3"}, initial: "wav", group: g, usage: "how they are encoded; only wav", fate: same, note: "mp3 is refused: there is no encoder for it"},
		{names: []string{"--audio-depths"}, arg: "BITS", kind: positive, list: true, initial: "16", group: g, usage: "bits a sample, of which one is chosen", fate: same},
		{names: []string{"--audio-sample-rates"}, arg: "KHZ", kind: above, list: true, initial: "16", group: g, usage: "sample rates, of which one is chosen", fate: same},
		{names: []string{"--audio-num-channels"}, arg: "N", choices: []string{"1", "2"}, initial: "1", group: g, usage: "channels", fate: same},
		{names: []string{"--batch-size-audio"}, arg: "N", kind: natural, initial: "1", group: g, usage: "sounds of a request", fate: same},
	}
}

// genaiPerfProfile is "genai-perf profile".
func genaiPerfProfile() *release {
	return &release{
		name: "latest profile", options: latestOptions(),
		translate: func(b *builder, a *arguments) {
			l := newLatest(b, a)
			l.translate(func() string { return l.stimulus() })
		},
	}
}

// genaiPerfAnalyze is "genai-perf analyze", which runs profile for each value of
// a sweep. Here that is one run, with one export.
func genaiPerfAnalyze() *release {
	return &release{
		name: "latest analyze",
		options: join(options{
			{names: []string{"--sweep-type"}, arg: "WHAT", choices: []string{"batch_size", "concurrency", "num_dataset_entries", "input_sequence_length", "request_rate"}, initial: "concurrency", group: "Analyze", usage: "what to vary: concurrency or request_rate", fate: alias, note: "--concurrency-range, --request-rate-range; others are refused"},
			{names: []string{"--sweep-range"}, arg: "MIN:MAX[:STEP]", initial: "1:1024", group: "Analyze", usage: "its values; of the concurrency, powers of two", fate: alias, note: "--concurrency-range, --request-rate-range"},
			{names: []string{"--sweep-list"}, arg: "N,N,…", group: "Analyze", usage: "its values", fate: alias, note: "--concurrency-range, --request-rate-range"},
		}, latestOptions()),
		translate: func(b *builder, a *arguments) {
			l := newLatest(b, a)
			l.translate(func() string { return l.sweep() })
		},
	}
}

// latest is a command line of the last release.
type latest struct {
	genaiPerf
	model   string
	service endpointType
	payload string // the file of payload:FILE
}

func newLatest(b *builder, a *arguments) *latest {
	l := &latest{
		genaiPerf: genaiPerf{builder: b, a: a, release: "latest", kind: kindOpenAI, stream: a.has("--streaming")},
		service:   findEndpointType(a.text("--endpoint-type")),
	}
	if l.service.path == "" {
		l.kind = kindTriton
	}
	if models := a.values("--model"); len(models) > 0 {
		l.model = models[0]
	}
	l.payload, _ = strings.CutPrefix(a.text("--input-file"), "payload:")
	if !strings.HasPrefix(a.text("--input-file"), "payload:") {
		l.payload = ""
	}
	return l
}

// translate adds everything; load adds the load, and returns its name in the
// folder of the run.
func (l *latest) translate(load func() string) {
	a := l.a
	l.check()
	l.begin(l.model)
	if a.has("--verbose") {
		l.flag("-v")
	}
	l.moreModels()
	if l.service.path != "" {
		endpoint := strings.ReplaceAll(l.service.path, "{model}", l.model)
		if a.has("--endpoint") {
			endpoint = strings.TrimLeft(a.text("--endpoint"), " /")
		}
		l.set("--endpoint", endpoint)
	}
	l.url()
	for _, h := range a.values("--header") {
		l.set("-H", h)
	}
	if l.service.name == "kserve" && a.text("--backend") == "tensorrtllm" {
		l.trtllmShapes()
	}
	if n := a.whole("--warmup-request-count"); n > 0 {
		l.setWhole("--warmup-request-count", n)
	}
	stimulus := load()
	l.inputs()
	l.compose()
	l.send()
	l.artifacts(stimulus)
}

// moreModels adds the models but the first, and how prompts get theirs.
func (l *latest) moreModels() {
	if !l.several() {
		return
	}
	for _, name := range l.a.values("--model")[1:] {
		l.set("-m", name)
	}
	l.set("--model-selection-strategy", l.a.text("--model-selection-strategy"))
}

func (l *latest) several() bool { return len(l.a.values("--model")) > 1 }

// check reports what does not fit together, or is not supported.
func (l *latest) check() {
	a := l.a
	if l.model == "" {
		l.errorf("no model; give its name with -m")
	}
	if l.service.instead != "" {
		l.errorf("--endpoint-type %s is not supported: %s", l.service.name, l.service.instead)
	}
	if kind := a.text("--service-kind"); kind != "" && kind != l.kind {
		l.errorf("--service-kind %s does not fit --endpoint-type %s", kind, l.service.name)
	}
	if a.has("--backend") && l.service.name != "kserve" {
		l.errorf("--backend belongs to --endpoint-type kserve")
	}
	if !l.answers() {
		if a.whole("--output-tokens-stddev") != 0 {
			l.errorf("--output-tokens-stddev needs --output-tokens-mean")
		}
		if a.has("--output-tokens-mean-deterministic") {
			l.errorf("--output-tokens-mean-deterministic needs --output-tokens-mean")
		}
	} else if a.has("--output-tokens-mean-deterministic") && l.kind != kindTriton {
		l.errorf("--output-tokens-mean-deterministic belongs to --endpoint-type kserve")
	}
	if l.stream && l.service.whole {
		l.errorf("--streaming does not fit --endpoint-type %s", l.service.name)
	}
	if n := a.whole("--batch-size-text"); n > 1 {
		l.checkBatch(n)
	}
	if l.service.name == "rankings" && !l.ranked() {
		l.errorf("--endpoint-type rankings needs --input-file synthetic:queries,passages, or a folder with queries.jsonl and passages.jsonl")
	}
	if l.service.name == "tensorrtllm_engine" {
		l.notef("the requests go to a Triton server with the engine; GenAI-Perf runs it in its own process")
	}
	if l.answers() {
		l.spread("--output-tokens-mean", a.whole("--output-tokens-mean"), a.whole("--output-tokens-stddev"))
	}
	if s := a.number("--stability-percentage"); s != 0 && !(s >= 1 && s <= 999) {
		l.errorf("--stability-percentage %v: must be from 1 to 999", s)
	}
	if a.text("--tokenizer-revision") != "main" {
		l.errorf("--tokenizer-revision %s: only main is supported; give --tokenizer a folder with the other one", clip(a.text("--tokenizer-revision")))
	}
	if a.has("--measurement-interval") && a.has("--request-count") {
		l.errorf("--measurement-interval and --request-count exclude each other; drop one")
	}
	if a.has("--server-metrics-url") {
		l.notef("--server-metrics-url: the GPUs' figures are not recorded")
	}
}

// checkBatch reports what takes no more than one text in a request.
func (l *latest) checkBatch(n int) {
	switch l.service.name {
	case "chat", "multimodal", "vision", "kserve", "tensorrtllm_engine":
		l.errorf("--batch-size-text %d: --endpoint-type %s takes one text in a request, in GenAI-Perf too", n, l.service.name)
	}
	if l.payload != "" {
		l.errorf("--batch-size-text %d: a trace has one text in a request", n)
	}
}

// madeUp returns the names of --input-file synthetic:…, of which each stands for
// as many prompts as are made up; nil if it is not given.
func (l *latest) madeUp() []string {
	names, ok := strings.CutPrefix(l.a.text("--input-file"), "synthetic:")
	if !ok {
		return nil
	}
	return strings.Split(names, ",")
}

// ranked reports whether there is something to rank, and something to rank it by.
func (l *latest) ranked() bool {
	if names := l.madeUp(); names != nil {
		return slices.Contains(names, "queries") && slices.Contains(names, "passages")
	}
	return l.a.has("--input-file") && l.payload == ""
}

// answers reports whether answers of a length are asked for; 0 asks for none, as
// everywhere in this release 0 is not given.
func (l *latest) answers() bool { return l.a.whole("--output-tokens-mean") != 0 }

// orInitial is a whole number of which 0 is not given.
func (l *latest) orInitial(name string) int {
	if n := l.a.whole(name); n != 0 {
		return n
	}
	n, err := strconv.Atoi(l.a.options.must(name).initial)
	if err != nil {
		panic(err) // the table
	}
	return n
}

// stimulus adds the load of profile.
func (l *latest) stimulus() string {
	a := l.a
	var given []string
	for _, name := range []string{"--concurrency", "--request-rate", "--session-concurrency", "--fixed-schedule"} {
		if a.has(name) {
			given = append(given, name)
		}
	}
	if len(given) > 1 {
		l.errorf("%s exclude each other; drop all but one", strings.Join(given, " and "))
		return ""
	}
	concurrency := 0
	var name string
	switch {
	case a.has("--session-concurrency"):
		n := a.text("--session-concurrency")
		l.set("--session-concurrency", n)
		name = "session_concurrency" + n
	case a.has("--fixed-schedule"):
		l.flag("--fixed-schedule")
		name = "fixed_schedule"
	default:
		l.load("1")
		if a.has("--request-rate") {
			name = "request_rate" + l.Args[len(l.Args)-1]
			break
		}
		concurrency = max(1, a.whole("--concurrency"))
		name = fmt.Sprintf("concurrency%d", concurrency)
		if l.payload != "" {
			name = ""
		}
	}
	l.duration(concurrency)
	return name
}

// duration adds how long is measured: by default until 10 requests are sent, or
// two for each in flight. A trace is sent as perf_analyzer does by itself.
func (l *latest) duration(concurrency int) {
	if l.payload != "" {
		return
	}
	stability := l.a.number("--stability-percentage")
	if stability == 0 {
		stability = 999
	}
	switch {
	case l.a.whole("--measurement-interval") != 0:
		l.set("--measurement-interval", l.a.text("--measurement-interval"))
	case l.a.whole("--request-count") != 0:
		l.set("--request-count", l.a.text("--request-count"))
	default:
		l.setWhole("--request-count", max(10, 2*concurrency))
	}
	l.setNumber("--stability-percentage", stability)
}

// sweep adds the load levels of analyze.
func (l *latest) sweep() string {
	a, what := l.a, l.a.text("--sweep-type")
	for _, name := range []string{"--concurrency", "--request-rate", "--session-concurrency", "--fixed-schedule"} {
		if a.has(name) {
			l.errorf("%s does not fit analyze; the sweep is the load", name)
		}
	}
	var values []int
	var err error
	if a.has("--sweep-list") {
		values, err = parseWholes(a.text("--sweep-list"))
		if err != nil {
			l.errorf("--sweep-list %s: %w", clip(a.text("--sweep-list")), err)
		}
	} else {
		values, err = parseSweep(a.text("--sweep-range"), what == "concurrency")
		if err != nil {
			l.errorf("--sweep-range %s: %w", clip(a.text("--sweep-range")), err)
		}
	}
	if len(values) == 0 {
		return ""
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]")
	last := values[len(values)-1]
	switch what {
	case "concurrency":
		l.set("--concurrency-range", list)
		l.duration(last)
		if last > 5 && l.a.whole("--request-count") == 0 && l.a.whole("--measurement-interval") == 0 {
			l.notef("every level gets as many requests as the last, %d; GenAI-Perf sends fewer at lower ones", 2*last)
		}
	case "request_rate":
		l.set("--request-rate-range", list)
		l.duration(0)
	default:
		l.errorf("--sweep-type %s is not supported: make a run for each value", what)
	}
	return fmt.Sprintf("%s%d-%d", what, values[0], last)
}

// parseWholes reads a list of positive whole numbers.
func parseWholes(s string) ([]int, error) {
	var all []int
	for _, field := range strings.Split(s, ",") {
		n, err := parseWhole(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive whole number", clip(field))
		}
		all = append(all, n)
	}
	return all, nil
}

// parseSweep reads MIN:MAX, or MIN:MAX:STEP where values are not powers of two.
func parseSweep(s string, powers bool) ([]int, error) {
	fields, err := parseWholes(strings.ReplaceAll(s, ":", ","))
	if err != nil {
		return nil, err
	}
	if len(fields) < 2 || len(fields) > 3 {
		return nil, fmt.Errorf("expected MIN:MAX or MIN:MAX:STEP")
	}
	first, last, step := fields[0], fields[1], 1
	if first >= last {
		return nil, fmt.Errorf("the maximum must be above the minimum")
	}
	if len(fields) == 3 {
		step = fields[2]
	}
	if powers {
		if len(fields) == 3 {
			return nil, fmt.Errorf("the concurrency has no step; its values are powers of two")
		}
		if first&(first-1) != 0 || last&(last-1) != 0 {
			return nil, fmt.Errorf("the bounds of the concurrency must be powers of two")
		}
	}
	var all []int
	const most = 10000
	for n := first; n <= last && n > 0; {
		if len(all) == most {
			return nil, fmt.Errorf("more than %d values", most)
		}
		all = append(all, n)
		if powers {
			n *= 2
		} else {
			n += step
		}
	}
	return all, nil
}

// inputs adds where prompts come from.
func (l *latest) inputs() {
	a, file := l.a, l.a.text("--input-file")
	switch {
	case l.payload != "":
		l.set("--input-data", l.payload)
		if a.whole("--num-prefix-prompts") > 0 {
			l.notef("--num-prefix-prompts: nothing is put in front of the prompts of a trace, as in GenAI-Perf")
		}
	case file != "" && l.madeUp() == nil:
		l.set("--input-data", file)
		if a.whole("--batch-size-text") > 1 || l.imagesEach() > 1 {
			l.setWhole("--num-dataset-entries", a.whole("--num-dataset-entries"))
		}
		if n := l.imagesEach(); n > 1 {
			l.setWhole("--batch-size-image", n)
		}
		l.prefixes()
	default:
		n := a.whole("--num-dataset-entries")
		if files := l.madeUp(); files != nil && l.service.name != "rankings" {
			n *= len(files)
		}
		if a.whole("--num-sessions") > 0 {
			n = 0
		}
		l.synthetic("--synthetic-input-tokens-mean", l.orInitial("--synthetic-input-tokens-mean"), a.whole("--synthetic-input-tokens-stddev"), n)
		l.prefixes()
		l.media()
	}
	if n := a.whole("--batch-size-text"); n > 1 {
		l.setWhole("--batch-size-text", n)
	}
	if l.answers() {
		l.set("--output-tokens-mean", a.text("--output-tokens-mean"))
		l.setWhole("--output-tokens-stddev", a.whole("--output-tokens-stddev"))
	}
	l.sessions()
	l.setWhole("--random-seed", a.whole("--random-seed"))
	if a.has("--tokenizer") {
		l.tokenizer(a.text("--tokenizer"), true)
	} else {
		l.tokenizer(l.model, false)
	}
}

// prefixes adds what prompts begin with.
func (l *latest) prefixes() {
	if n := l.a.whole("--num-prefix-prompts"); n > 0 {
		l.setWhole("--num-prefix-prompts", n)
		l.setWhole("--prefix-prompt-length", l.orInitial("--prefix-prompt-length"))
	}
}

// imagesEach is how many pictures a request has, if it can have some.
func (l *latest) imagesEach() int {
	if !l.service.pictures {
		return 1
	}
	return max(1, l.a.whole("--batch-size-image"))
}

// media adds synthetic pictures and sounds, where the service is sent some.
func (l *latest) media() {
	a := l.a
	width, height, seconds := a.whole("--image-width-mean"), a.whole("--image-height-mean"), a.number("--audio-length-mean")
	if (width > 0) != (height > 0) {
		l.notef("pictures have a width and a height: none are made, as in GenAI-Perf; give --image-width-mean and --image-height-mean")
	}
	if width > 0 && height > 0 && l.sends("pictures", l.service.pictures) {
		l.spread("--image-width-mean", width, a.whole("--image-width-stddev"))
		l.spread("--image-height-mean", height, a.whole("--image-height-stddev"))
		for _, name := range []string{"--image-width-mean", "--image-width-stddev", "--image-height-mean", "--image-height-stddev", "--image-format"} {
			l.set(name, a.text(name))
		}
		l.setWhole("--batch-size-image", l.imagesEach())
	} else if l.service.name == "image_retrieval" {
		l.errorf("--endpoint-type image_retrieval needs pictures; give --image-width-mean and --image-height-mean, or --input-file")
	}
	if seconds == 0 || !l.sends("sounds", l.service.sounds) {
		return
	}
	if !(seconds >= minSeconds) {
		l.errorf("--audio-length-mean %v: must be at least %v", seconds, minSeconds)
	}
	if stddev := a.number("--audio-length-stddev"); !(stddev >= 0 && stddev <= seconds) {
		l.errorf("--audio-length-stddev %v: must be from 0 to the mean, %v", stddev, seconds)
	}
	if a.text("--audio-format") == "mp3" {
		l.errorf("--audio-format mp3 is not supported: there is no encoder for it; take wav")
	}
	for _, depth := range a.values("--audio-depths") {
		if !slices.Contains([]string{"8", "16", "24", "32"}, depth) {
			l.errorf("--audio-depths %s: must be 8, 16, 24 or 32", clip(depth))
		}
	}
	for _, name := range []string{"--audio-length-mean", "--audio-length-stddev", "--audio-format", "--audio-num-channels"} {
		l.set(name, a.text(name))
	}
	for _, name := range []string{"--audio-depths", "--audio-sample-rates"} {
		list := a.values(name)
		if list == nil {
			list = []string{a.text(name)}
		}
		l.set(name, strings.Join(list, ","))
	}
	l.setWhole("--batch-size-audio", max(1, a.whole("--batch-size-audio")))
}

// minSeconds is how long sounds are at least.
const minSeconds = 0.1

// sends reports whether what was asked for is sent; a note says it if not.
func (l *latest) sends(what string, takes bool) bool {
	switch {
	case !takes:
		l.notef("--endpoint-type %s is sent no %s, in GenAI-Perf neither; multimodal is", l.service.name, what)
	case l.a.whole("--num-sessions") > 0:
		l.notef("the turns of --num-sessions have no %s, in GenAI-Perf neither", what)
		return false
	}
	return takes
}

// sessions adds conversations.
func (l *latest) sessions() {
	a := l.a
	if a.number("--session-delay-ratio") != 1 && l.payload != "" {
		l.set("--session-delay-ratio", a.text("--session-delay-ratio"))
	}
	if n := a.whole("--num-sessions"); n > 0 {
		l.setWhole("--num-sessions", n)
		for _, name := range []string{"--session-turns-mean", "--session-turns-stddev", "--session-turn-delay-mean", "--session-turn-delay-stddev"} {
			l.set(name, a.text(name))
		}
	}
}

// compose makes the form of the requests.
func (l *latest) compose() {
	extras := l.extras(parseExtras)
	r := &l.request
	// The length of an answer may stand in the trace, too.
	length := l.answers() || l.payload != ""
	openAI := func() {
		if l.stream {
			r.set("stream", true)
		}
		if length {
			r.set("max_tokens", placeMaxTokens)
		}
	}
	switch l.service.name {
	case "chat":
		r.set("model", placeModel)
		r.set("messages", placeMessages)
		openAI()
	case "multimodal", "vision":
		r.set("model", placeModel)
		r.set("messages", userMessage(placeContent))
		openAI()
	case "completions":
		r.set("model", placeModel)
		r.set("prompt", placeTexts)
		openAI()
	case "embeddings":
		r.set("model", placeModel)
		r.set("input", placeTexts)
	case "nvclip":
		r.set("model", placeModel)
		r.set("input", placeInputs)
	case "image_retrieval":
		r.set("input", placePictures)
	case "rankings":
		extras = l.rankings(extras)
	case "generate":
		r.set("text_input", placeTexts)
		openAI()
	case "huggingface_generate":
		r.set("model", placeModel)
		r.set("inputs", placeMarkdown)
		if length {
			r.set("parameters", map[string]string{"max_new_tokens": placeMaxTokens})
		}
	case "kserve":
		l.triton(length)
	case "tensorrtllm_engine":
		extras = l.engine(length, extras)
	}
	for _, e := range extras {
		if l.kind == kindTriton {
			e.value = array(e.value)
		}
		r.set(e.name, e.value)
	}
}

// rankings makes requests of NVIDIA's interface, or with --extra-inputs
// rankings:tei of Hugging Face's, and returns the other extras.
func (l *latest) rankings(extras []extra) []extra {
	r := &l.request
	isTEI := func(e extra) bool { return e.name == "rankings" && string(e.value) == `"tei"` }
	if slices.ContainsFunc(extras, isTEI) {
		r.set("query", placeQuery)
		r.set("texts", placeDocuments)
		return slices.DeleteFunc(extras, isTEI)
	}
	r.set("query", map[string]string{"text": placeQuery})
	r.set("passages", placePassages)
	r.set("model", placeModel)
	return extras
}

// engine makes the tensors of --endpoint-type tensorrtllm_engine, and returns the
// extras that are not of the tool's own.
func (l *latest) engine(length bool, extras []extra) []extra {
	r := &l.request
	r.set("input_ids", map[string]any{"content": placeInputIDs, "shape": []string{placeInputLength}})
	r.set("input_lengths", []string{placeInputLength})
	if length {
		r.set("request_output_len", []string{fmt.Sprintf("{{max_tokens|%d}}", trtllmMaxTokens)})
	} else {
		r.set("request_output_len", []int{trtllmMaxTokens})
	}
	if l.stream {
		r.set("streaming", []bool{true})
	}
	if length && l.a.has("--output-tokens-mean-deterministic") {
		r.set("min_length", []string{placeMaxTokens})
	}
	for _, e := range extras {
		switch e.name {
		case "set_end_id":
			l.errorf("--extra-inputs set_end_id is not supported: give the number, as --extra-inputs end_id:N")
		case "apply_chat_template":
			l.errorf("--extra-inputs apply_chat_template is not supported: chat templates are applied by servers; ask a chat endpoint")
		}
	}
	return extras
}

// triton makes the tensors of --endpoint-type kserve.
func (l *latest) triton(length bool) {
	r, exact := &l.request, l.a.has("--output-tokens-mean-deterministic")
	r.set("text_input", []string{placePrompt})
	vllm := l.a.text("--backend") == "vllm"
	switch {
	case vllm:
	case length:
		r.set("max_tokens", []string{fmt.Sprintf("{{max_tokens|%d}}", trtllmMaxTokens)})
	default:
		r.set("max_tokens", []int{trtllmMaxTokens})
	}
	r.set("exclude_input_in_output", []bool{true})
	if l.stream {
		r.set("stream", []bool{true})
	}
	switch {
	case !length:
	case vllm:
		r.set("sampling_parameters", []string{samplingParameters(exact, ",", ":")})
	case exact:
		r.set("min_length", []string{placeMaxTokens})
	}
}

// artifacts adds the export, in the folder that GenAI-Perf makes for the run.
func (l *latest) artifacts(stimulus string) {
	a, file := l.a, l.a.text("--profile-export-file")
	if strings.Contains(file, "/") {
		l.errorf("--profile-export-file %s: a name, without folders; those go into --artifact-dir", clip(file))
	}
	kind := "openai-" + l.service.name
	switch l.service.name {
	case "kserve":
		kind = "triton-" + a.text("--backend")
		l.hint("backend", a.text("--backend"))
	case "tensorrtllm_engine":
		kind = l.service.name
		l.hint("endpoint_type", l.service.name)
	default:
		l.hint("endpoint_type", l.service.name)
	}
	folder := strings.ReplaceAll(l.model, "/", "_")
	if l.several() {
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
