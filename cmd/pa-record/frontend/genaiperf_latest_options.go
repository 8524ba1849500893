package frontend

import "slices"

// An endpointType is a value of --endpoint-type.
type endpointType struct {
	name string
	path string // {model} stands for the model's name; "" means Triton over gRPC
	// unstreamed marks services that never stream.
	unstreamed bool
	// images and audio mark services whose requests can hold them.
	images, audio bool
	// alternative marks a type that pa-record lacks, and says what to do instead.
	alternative string
}

var endpointTypes = []endpointType{
	{name: "kserve"},
	{name: "chat", path: "v1/chat/completions"},
	{name: "completions", path: "v1/completions"},
	{name: "embeddings", path: "v1/embeddings", unstreamed: true},
	{name: "multimodal", path: "v1/chat/completions", images: true, audio: true},
	{name: "vision", path: "v1/chat/completions", images: true, audio: true},
	{name: "generate", path: "v2/models/{model}/generate"},
	{name: "huggingface_generate", path: ".", images: true},
	{name: "rankings", path: "v1/ranking", unstreamed: true},
	{name: "nvclip", path: "v1/embeddings", unstreamed: true, images: true},
	{name: "image_retrieval", path: "v1/infer", unstreamed: true, images: true},
	{name: "template", alternative: "give the template to pa-record --request-template"},
	{name: "tensorrtllm_engine"},
	{name: "dynamic_grpc", alternative: "only Triton's own gRPC service is supported"},
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

// latestOptions returns the options of profile and analyze of GenAI-Perf 0.0.16dev.
// They are unchanged since 25.06. --service-kind ended with 25.03.
func latestOptions() options {
	return slices.Concat(options{
		{names: []string{"-m", "--model"}, arg: "MODEL", list: true, group: "Endpoint", usage: "the model to ask, or several", support: same},
		{names: []string{"--model-selection-strategy"}, arg: "HOW", choices: []string{"round_robin", "random"}, defaultValue: "round_robin", group: "Endpoint", usage: "how prompts get one of several models", support: same},
		{names: []string{"--service-kind"}, arg: "KIND", choices: []string{kindTriton, kindOpenAI}, group: "Endpoint", usage: "the kind of server, up to 25.03", support: unneeded, note: "it follows from --endpoint-type; one that does not fit is an error"},
		{names: []string{"--endpoint-type"}, arg: "TYPE", choices: endpointTypeNames(), defaultValue: "kserve", group: "Endpoint", usage: "the API to ask; not template and dynamic_grpc", support: alias, note: "--service-kind, --endpoint; template and dynamic_grpc are refused"},
		{names: []string{"--endpoint"}, arg: "PATH", group: "Endpoint", usage: "send to this path instead of the API's", support: same},
		{names: []string{"--backend"}, arg: "NAME", choices: []string{"tensorrtllm", "vllm"}, defaultValue: "tensorrtllm", group: "Endpoint", usage: "the model's backend, of Triton", support: body},
		optURL, optStreaming,
		{names: []string{"--server-metrics-url", "--server-metrics-urls"}, arg: "URL", list: true, group: "Endpoint", usage: "where the GPUs' figures are", support: unneeded, note: "not recorded; a note says so"},
		{names: []string{"--grpc-method"}, arg: "METHOD", group: "Endpoint", usage: "of --endpoint-type dynamic_grpc", support: refused, note: "only Triton's own gRPC service is supported"},

		{names: []string{"--input-file"}, arg: "FILE", group: "Input", usage: "prompts as JSON lines, a folder of them, payload:FILE for a trace, or synthetic:queries,passages", support: alias, note: "--input-data; of synthetic:… the number of prompts"},
		{names: []string{"--num-dataset-entries", "--num-prompts"}, arg: "N", kind: positive, defaultValue: "100", group: "Input", usage: "number of different prompts", support: same},
		{names: []string{"--synthetic-input-tokens-mean", "--isl"}, arg: "N", kind: natural, defaultValue: "550", group: "Input", usage: "mean length of synthetic prompts", support: same},
		{names: []string{"--synthetic-input-tokens-stddev"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "its standard deviation", support: same},
		{names: []string{"--output-tokens-mean", "--osl"}, arg: "N", kind: natural, group: "Input", usage: "mean length asked of the answers", support: same},
		{names: []string{"--output-tokens-stddev"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "its standard deviation", support: same},
		{names: []string{"--output-tokens-mean-deterministic"}, group: "Input", usage: "ask Triton for answers not shorter than that", support: body},
		{names: []string{"--num-prefix-prompts"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "number of shared prefixes of prompts", support: same},
		{names: []string{"--prefix-prompt-length"}, arg: "N", kind: natural, defaultValue: "100", group: "Input", usage: "their length", support: same},
		optSeed,
		{names: []string{"--extra-inputs"}, arg: "NAME:VALUE", repeat: true, group: "Input", usage: "further members of each request, or a JSON object", support: body},
		{names: []string{"-H", "--header"}, arg: "'NAME:VALUE'", repeat: true, group: "Input", usage: "a header of every request", support: same},
		{names: []string{"-b", "--batch-size", "--batch-size-text"}, arg: "N", kind: natural, defaultValue: "1", group: "Input", usage: "texts of a request, passages of a ranking", support: alias, note: "--batch-size-text; chat, multimodal and Triton's models take one, as in GenAI-Perf"},
		{names: []string{"-g", "--goodput"}, arg: "NAME:VALUE", list: true, group: "Input", usage: "objectives of the report", support: hint},
	}, mediaOptions(), options{
		{names: []string{"--tokenizer"}, arg: "NAME", group: "Input", usage: "the tokenizer that counts lengths (default: the model's)", support: same},
		{names: []string{"--tokenizer-revision"}, arg: "NAME", defaultValue: "main", group: "Input", usage: "its revision; only main", support: unneeded, note: "main is the only one supported"},
		{names: []string{"--tokenizer-trust-remote-code"}, group: "Input", usage: "", support: unneeded, note: "no code is run"},

		optConcurrency, optRate,
		{names: []string{"--fixed-schedule"}, arg: "ANY", group: "Profiling", usage: "send at the times of the trace; any value says yes", support: same},
		{names: []string{"--session-concurrency"}, arg: "N", kind: positive, group: "Profiling", usage: "keep N conversations going", support: same},
		{names: []string{"-p", "--measurement-interval"}, arg: "MS", kind: natural, group: "Profiling", usage: "measure in windows of this length", support: same},
		{names: []string{"--request-count", "--num-requests"}, arg: "N", kind: natural, group: "Profiling", usage: "send N requests (default: 10, or twice the concurrency)", support: same},
		{names: []string{"--warmup-request-count", "--num-warmup-requests"}, arg: "N", kind: natural, defaultValue: "0", group: "Profiling", usage: "send N requests before", support: same},
		{names: []string{"-s", "--stability-percentage"}, arg: "PCT", kind: number, defaultValue: "999", group: "Profiling", usage: "by how much the last three windows may differ", support: same},
		{names: []string{"--num-sessions"}, arg: "N", kind: natural, defaultValue: "0", group: "Profiling", usage: "number of conversations", support: same},
		{names: []string{"--session-turns-mean"}, arg: "N", kind: number, defaultValue: "1", group: "Profiling", usage: "mean number of their turns", support: same},
		{names: []string{"--session-turns-stddev"}, arg: "N", kind: number, defaultValue: "0", group: "Profiling", usage: "its standard deviation", support: same},
		{names: []string{"--session-turn-delay-mean"}, arg: "MS", kind: number, defaultValue: "0", group: "Profiling", usage: "mean time between turns", support: same},
		{names: []string{"--session-turn-delay-stddev"}, arg: "MS", kind: number, defaultValue: "0", group: "Profiling", usage: "its standard deviation", support: same},
		{names: []string{"--session-delay-ratio"}, arg: "R", kind: number, defaultValue: "1", group: "Profiling", usage: "multiply the delays of a trace", support: same},

		optExport,
		{names: []string{"--artifact-dir"}, arg: "DIR", defaultValue: "artifacts", group: "Output", usage: "where the folder of the run goes", support: alias, note: "--profile-export-file"},
		{names: []string{"--checkpoint-dir"}, arg: "DIR", defaultValue: "checkpoint", group: "Output", usage: "", support: unneeded, note: "every run starts anew"},
		{names: []string{"--enable-checkpointing"}, group: "Output", usage: "", support: unneeded, note: "every run starts anew"},
		{names: []string{"--generate-plots"}, group: "Output", usage: "plots", support: hint, note: "pa-analyze html"},
		{names: []string{"-v", "--verbose"}, group: "Other", usage: "print the report of perf_analyzer, too", support: same},
	})
}

// mediaOptions returns the options of synthetic images and audio.
func mediaOptions() options {
	const g = "Input"
	return options{
		{names: []string{"--image-width-mean"}, arg: "PX", kind: natural, defaultValue: "0", group: g, usage: "mean width of synthetic images; 0 makes none", support: same},
		{names: []string{"--image-width-stddev"}, arg: "PX", kind: natural, defaultValue: "0", group: g, usage: "its standard deviation", support: same},
		{names: []string{"--image-height-mean"}, arg: "PX", kind: natural, defaultValue: "0", group: g, usage: "mean height; 0 makes none", support: same},
		{names: []string{"--image-height-stddev"}, arg: "PX", kind: natural, defaultValue: "0", group: g, usage: "its standard deviation", support: same},
		{names: []string{"--image-format"}, arg: "FORMAT", choices: []string{"png", "jpeg"}, defaultValue: "png", group: g, usage: "how they are encoded", support: same},
		{names: []string{"--batch-size-image"}, arg: "N", kind: natural, defaultValue: "1", group: g, usage: "images of a request", support: same},
		{names: []string{"--audio-length-mean"}, arg: "S", kind: number, defaultValue: "0", group: g, usage: "mean length of synthetic audio clips; 0 makes none", support: same},
		{names: []string{"--audio-length-stddev"}, arg: "S", kind: number, defaultValue: "0", group: g, usage: "its standard deviation", support: same},
		{names: []string{"--audio-format"}, arg: "FORMAT", choices: []string{"wav", "mp3"}, defaultValue: "wav", group: g, usage: "how they are encoded; only wav", support: same, note: "mp3 is refused: there is no encoder for it"},
		{names: []string{"--audio-depths"}, arg: "BITS", kind: positive, list: true, defaultValue: "16", group: g, usage: "bits a sample, one chosen for each clip", support: same},
		{names: []string{"--audio-sample-rates"}, arg: "KHZ", kind: above, list: true, defaultValue: "16", group: g, usage: "sample rates, one chosen for each clip", support: same},
		{names: []string{"--audio-num-channels"}, arg: "N", choices: []string{"1", "2"}, defaultValue: "1", group: g, usage: "channels", support: same},
		{names: []string{"--batch-size-audio"}, arg: "N", kind: natural, defaultValue: "1", group: g, usage: "audio clips of a request", support: same},
	}
}
