package genaiperf

import (
	"slices"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/stat"
)

// A release is one release of GenAI-Perf.
type release struct {
	// Name is the container release that ships it, "24.03" to "25.08",
	// or "main" for the last state of the project.
	Name string

	rules rules
}

// find returns the release of that name; nil if there is none.
func find(name string) *release {
	for i := range releases {
		if releases[i].Name == name {
			return &releases[i]
		}
	}
	return nil
}

// aliases maps further container releases to the release whose package they shipped.
var aliases = map[string]string{
	"25.07": "25.06",
	"25.09": "main", "25.10": "main", "25.11": "main", "25.12": "main", latest: "main",
}

// latest is the name of the last release in aliases.
const latest = "latest"

// releases holds all releases, oldest first, also releases without a change. A release
// has the rules of its predecessor with the changes of its entry in history.
var releases = func() []release {
	var all []release
	var r rules
	for _, h := range history {
		if h.change != nil {
			h.change(&r)
		}
		all = append(all, release{Name: h.name, rules: r})
	}
	return all
}()

// history holds the changes of each release. A change replaces a slice and never writes
// into it, because earlier releases share it.
var history = []struct {
	name   string
	change func(*rules)
}{
	{"24.03", func(r *rules) {
		r.numpy = stat.NumpyBefore23
		r.kinds = []string{"triton", "openai"}
		r.stripJunk, r.prefix = true, "data: "
		r.layout, r.title = layout2403, "PA "
		r.rows = []string{firstToken, interToken, requestLatency, numOutput}
		r.tokenRate = "per sec"
	}},
	{"24.04", func(r *rules) {
		r.stripJunk, r.needsInputs = false, true
		r.drop, r.text, r.count = trimEmpty, text2404, countMarked
		r.input, r.prompt = inputFirst, promptFirst
		r.layout, r.title = layout2404, ""
		r.rows = append(slices.Clone(r.rows), numInput)
		r.plots = true
	}},
	{"24.05", func(r *rules) {
		r.needsKind = true
		r.formats.endpoints = []formatRule{{"v1/chat/completions", formatChat}, {"v1/completions", formatCompletions}}
		r.formats.sniffs = []formatRule{{"chat.completion", formatChat}, {"text_completion", formatCompletions}}
		r.drop, r.merge, r.text = trimSafe, mergeAppend, text2405
		r.prompt = promptBatch
		r.plots = false
	}},
	{"24.06", func(r *rules) {
		r.drop, r.merge = dropEmpty, mergeCreate
		r.prompt, r.itl = promptPlain, itlMean
		r.jsonReport = json2406
	}},
	{"24.07", func(r *rules) {
		r.formats.endpoints = append([]formatRule{{"rerank", formatRankings}}, r.formats.endpoints...)
		r.formats.endpoints = append(r.formats.endpoints, formatRule{"v1/embeddings", formatEmbeddings}, formatRule{"v1/ranking", formatRankings})
		r.formats.sniffs = append(slices.Clone(r.formats.sniffs), formatRule{"embedding", formatEmbeddings}, formatRule{"ranking", formatRankings})
		r.latencyOnly = []string{"embeddings", "rankings"}
		r.count = countJoined
		r.layout, r.missing = layout2407, missingRaises
		r.rows = []string{firstToken, interToken, requestLatency, outputLength, inputLength}
		r.csvName = "profile_export_genai_perf.csv"
	}},
	{"24.08", func(r *rules) {
		r.kinds = append(slices.Clone(r.kinds), "triton_c_api")
		r.formats.multimodal = []string{"image_url"}
		r.multimodal, r.multimodalTitle = "vision", "LLM Metrics"
		r.rejoin = rejoinCircular
		r.csvName = ""
	}},
	{"24.09", func(r *rules) {
		r.formats.endpoints = append(slices.Clone(r.formats.endpoints), formatRule{"v1/infer", formatImages})
		r.formats.sniffs = append(slices.Clone(r.formats.sniffs), formatRule{"image_retrieval", formatImages})
		r.goodput, r.images = true, imagesMessages
		r.layout, r.title, r.multimodalTitle = layout2409, "NVIDIA GenAI-Perf | ", "VLM Metrics"
		r.jsonReport = json2409
	}},
	{"24.10", func(r *rules) { r.prefix = "data:" }},
	{"24.11", func(r *rules) {
		r.prompt = promptJoin
		r.latencyOnly = append(slices.Clone(r.latencyOnly), "nvclip")
	}},
	{"24.12", func(r *rules) {
		r.formats.patterns = []formatRule{{"generate", formatGenerate}}
		r.merge, r.text = mergeGenerate, text2412
		r.images = imagesInput
		r.missing, r.jsonReport = missingOrZeroNA, json2412
	}},
	{"25.01", func(r *rules) {
		r.secondToken, r.requestCount = true, true
		r.layout, r.missing = layout2501, missingNA
		r.rows = []string{firstToken, secondToken, requestLatency, interToken, outputLength, inputLength}
	}},
	{"25.02", func(r *rules) {
		r.latencyOnly = append(slices.Clone(r.latencyOnly), "template")
		r.emptyIDs = true
	}},
	{"25.03", func(r *rules) {
		r.kinds = append(slices.Clone(r.kinds), "dynamic_grpc")
		r.latencyOnly = append(slices.Clone(r.latencyOnly), "dynamic_grpc")
		r.rejoin, r.merge, r.skipsFields = rejoinData, mergeJoin, true
		r.input, r.sessions = inputAll, true
	}},
	{"25.04", func(r *rules) {
		r.formats.patterns = []formatRule{{"huggingface/generate", formatHuggingFace}}
		r.formats.sniffs = append(slices.Clone(r.formats.sniffs), formatRule{"generated_text", formatHuggingFace})
		r.formats.multimodal = []string{"image_url", "input_audio"}
		r.latencyOnly = []string{"embeddings", "rankings", "nvclip", "dynamic_grpc"}
		r.merge, r.text = mergeFormat, text2504
		r.itl, r.perUser = itlMean2, true
		r.multimodal, r.multimodalTitle = "multimodal", "Multi-Modal Metrics"
		r.wrapNames, r.tokenRate = true, "tokens/sec"
		r.rows = []string{firstToken, secondToken, requestLatency, interToken, tokensPerUser, outputLength, inputLength}
	}},
	{"25.05", func(r *rules) {
		r.formats.late = []formatRule{{"/generate", formatGenerate}}
		r.text, r.json = text2505, py.ORJSON
		r.maxBytes = 1 << 31
		r.records = true
	}},
	{"25.06", func(r *rules) {
		r.numpy = stat.NumpyCurrent
		r.rejoin, r.lowPercentiles = rejoinColon, true
	}},
	{"25.08", func(r *rules) { r.nullIsEmpty = true }},
	{"main", func(r *rules) { r.survives = true }},
}
