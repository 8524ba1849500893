package main

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// The values of --session-history.
const (
	liveHistory     = "live"
	recordedHistory = "recorded"
	serverHistory   = "server"
)

// The values of --prompts.
const (
	freshPrompts   = "fresh"
	restartPrompts = "restart"
)

// inputFlags returns the flags for the input data and the shape of requests.
func (s *settings) inputFlags() []cli.Flag {
	return []cli.Flag{
		readsData(&cli.StringSliceFlag{Name: "input-data", Category: catInput, Usage: "`DATA` is zero, random, or the path of a file or folder with requests, prompts or a trace (.txt: a prompt a line; repeatable; - is standard input); default: random tensors for Triton, built-in prompts for OpenAI"}),
		&cli.BoolFlag{Name: "z", Category: catInput, Usage: "perf_analyzer's old name for --input-data zero"},
		readsData(&cli.StringFlag{Name: "data-directory", Category: catInput, Usage: "perf_analyzer's old name for --input-data `DIR`"}),
		readsNamedDataset(&cli.StringFlag{Name: "dataset", Category: catInput, Usage: "`LAYOUT` of the files: " + strings.Join(dataset.Layouts(), ", ") + " (default: detected). Without files, openorca, cnn_dailymail and sharegpt come from Hugging Face's cache or its datasets server", Destination: &s.Layout}),
		&cli.StringFlag{Name: "dataset-sampling-strategy", Category: catInput, Usage: "`ORDER` of the entries: sequential, shuffle (each once a round) or random (any at any time)", Value: workload.Sequential.String()},
		&cli.StringFlag{Name: "prompts", Category: catInput, Usage: "`HOW` each level and each run of --repeat takes its prompts: fresh (prompts not sent before, as long as there are any) or restart (from the first prompt, which the server may have cached)", Value: freshPrompts},
		&cli.IntFlag{Name: "num-dataset-entries", Category: catInput, Usage: "send `N` of the entries: the first ones, or with shuffle any; or generate N prompts", DefaultText: "all of a file; 100 of a fetched data set; of synthetic prompts as many as the largest level sends, from 100 to 2,000"},
		&cli.StringFlag{Name: "trace-window", Category: catInput, Usage: "read the part `FROM:TO` of a trace, as times since its start: 10m:15m"},
		&cli.Int64Flag{Name: "max-spool", Category: catInput, Usage: "keep at most `BYTES` of a decompressed file or of a stream in $TMPDIR", DefaultText: "half of its free space, at most 64 GiB", Destination: &s.spool.MaxBytes},
		&cli.IntFlag{Name: "max-ratio", Category: catInput, Usage: "refuse a compressed file that decompresses to more than `N` times its size; -1: no limit", DefaultText: "1000", Destination: &s.spool.MaxRatio},
		&cli.IntFlag{Name: "block-tokens", Category: catInput, Usage: "`N` tokens for each hash id of a trace", DefaultText: "512; Bailian 16; WEKA the trace's block_size"},
		&cli.StringFlag{Name: "trace-rows", Category: catInput, Usage: "`WHAT` the later turns of a trace with \"session_id\" hold: whole (the prompt with its history) or new (only the new text)", DefaultText: "by the row's hash_ids, whole if they begin with the ids of the turn before; without hash_ids it must be given", Destination: &s.TraceRows},
		&cli.StringFlag{Name: "session-history", Category: catInput, Usage: "`WHICH` answers are the history of conversations whose data has answers (ShareGPT), and of synthetic agents: live or recorded; or server, which sends new items only and leaves the history to the server (v1/responses)", DefaultText: "live; of synthetic agents recorded", Destination: &s.SessionHistory},
		&cli.StringFlag{Name: "backend", Category: catInput, Usage: "how a Triton model takes prompts: `KIND` vllm, tensorrtllm, tensorrtllm_engine or llmapi; of --endpoint generate: sglang", DefaultText: "by the model's inputs; TGI"},
		&cli.StringFlag{Name: "request-template", Category: catInput, Usage: "build requests from this `JSON` object, which may hold {{" + strings.Join(render.Placeholders, "}}, {{") + "}}", DefaultText: "the service's own form"},
		&cli.BoolFlag{Name: "include-usage", Category: catInput, Usage: "ask OpenAI servers to state the numbers of tokens at the end of streamed answers to prompts", Value: true},
		&cli.IntFlag{Name: "batch-size", Aliases: []string{"b"}, Category: catInput, Usage: "Triton batch size `N`", Value: 1, Destination: &s.BatchSize},
		&cli.IntFlag{Name: "batch-size-text", Category: catInput, Usage: "put `N` texts, or passages to rank, into a request; prompts are synthetic or one in each entry", DefaultText: "1"},
		&cli.StringSliceFlag{Name: "shape", Category: catInput, Usage: "shape of an input whose dimensions the model leaves open: `NAME:D1,D2` (repeatable)"},
		&cli.IntFlag{Name: "string-length", Category: catInput, Usage: "length `N` of random strings", Value: 128, Destination: &s.StringLength},
		&cli.StringFlag{Name: "string-data", Category: catInput, Usage: "`TEXT` instead of random strings", Destination: &s.StringData},
		&cli.Uint64Flag{Name: "random-seed", Category: catInput, Usage: "seed `N` of everything random", Destination: &s.Seed},
	}
}

// inputSettings holds the checked settings of the data to send, with every default set.
type inputSettings struct {
	InputData      []string     `json:"input_data,omitempty"`
	Layout         string       `json:"dataset,omitempty"`
	Order          string       `json:"dataset_sampling_strategy,omitempty"`
	Prompts        string       `json:"prompts,omitempty"` // "" if there is one level and one run
	DatasetEntries int          `json:"num_dataset_entries,omitempty"`
	WindowFrom     millis       `json:"trace_window_from_ms,omitempty"`
	WindowTo       millis       `json:"trace_window_to_ms,omitempty"`
	BlockTokens    int          `json:"block_tokens,omitempty"`
	TraceRows      string       `json:"trace_rows,omitempty"`
	SessionHistory string       `json:"session_history,omitempty"`
	Style          render.Style `json:"backend,omitempty"` // 0: by the model
	IncludeUsage   bool         `json:"include_usage,omitempty"`

	promptMember string // of requests to the endpoint; "" for APIs other than OpenAI's
	extraLength  string // the member of --extra-body that holds the length of the answer; "" for none
	needsChat    string // why sessions need another endpoint, unless all of their requests hold their history; "" if this one is a chat

	RequestTemplate redactedJSON `json:"request_template,omitempty"`

	BatchSize    int                `json:"batch_size,omitempty"`
	BatchTexts   int                `json:"batch_size_text,omitempty"`
	Shapes       map[string][]int64 `json:"shapes,omitempty"`
	StringLength int                `json:"string_length,omitempty"`
	StringData   string             `json:"string_data,omitempty"`
	Seed         uint64             `json:"seed"`

	syntheticSettings
	mediaSettings

	template *render.Template // nil: none

	entriesAsked bool // --num-dataset-entries is given, for files

	sendOrder workload.Order
	restart   bool         // of --prompts
	spool     spool.Config // limits of --max-spool and --max-ratio
	// encode returns the tokens of a text; nil: no tokenizer. The package that opens the
	// inputs sets it.
	encode func(string) []uint32
	// reading is [dataset.Options.Reading].
	reading func(path string) error
}

// madeTensors reports whether tensors are made up instead of read from files.
func (s *inputSettings) madeTensors() bool {
	return len(s.InputData) == 1 && (s.InputData[0] == "zero" || s.InputData[0] == "random")
}

// datasetOptions returns how to read the files.
func (s *inputSettings) datasetOptions() dataset.Options {
	return dataset.Options{PromptMember: s.promptMember, Layout: s.Layout, From: time.Duration(s.WindowFrom), To: time.Duration(s.WindowTo), BlockTokens: s.BlockTokens, TraceRows: dataset.TraceRows(s.TraceRows), RecordedHistory: s.SessionHistory == recordedHistory, Reading: s.reading, Spool: s.spool}
}

// renderOptions returns how to put prompts into requests.
func (s *inputSettings) renderOptions() render.Options {
	return render.Options{Usage: s.IncludeUsage, LengthField: cmp.Or(s.extraLength, s.LengthField), OneLengthField: s.extraLength != "", Template: s.template, IDs: s.ids.Encode, Encode: s.encode}
}

// inputs reads the flags of the input data and of the requests made of it.
func (p *parser) inputs(s *settings) {
	c := p.c
	if name := c.String("backend"); name != "" {
		var err error
		s.Style, err = render.ParseStyle(name)
		p.refuse(err != nil, "--backend: %w", err)
		api, _ := s.api()
		p.refuse(err == nil && s.ServiceKind == kindOpenAI && api != render.SGLangGenerate, "--backend belongs to --service-kind triton, and --backend sglang to --endpoint generate")
		p.refuse(s.Style == render.SGLang && s.ServiceKind != kindOpenAI, "--backend sglang belongs to --service-kind openai with --endpoint generate")
	}
	s.InputData = c.StringSlice("input-data")
	if c.Bool("z") {
		s.InputData = append(s.InputData, "zero")
	}
	if dir := c.String("data-directory"); dir != "" {
		s.InputData = append(s.InputData, dir)
	}
	for _, d := range s.InputData {
		p.refuse((d == "zero" || d == "random") && (len(s.InputData) > 1 || s.ServiceKind == kindOpenAI), "--input-data %s: zero and random tensors are for Triton, and exclude files", d)
	}
	p.refuse(s.StringLength < 1, "--string-length %d: must be at least 1", s.StringLength)
	p.batchSize(s)
	p.shapes(s)
	p.dataset(s)
	p.synthetic(s)
	p.aboutFiles(s)
	s.IncludeUsage = s.ServiceKind == kindOpenAI && c.Bool("include-usage")
	p.refuse(s.ServiceKind == kindTriton && c.IsSet("include-usage"), "--include-usage belongs to --service-kind openai")
	p.requestTemplate(s)
	switch api, _ := s.api(); {
	case s.OutputLaw == "" || s.ServiceKind != kindOpenAI:
	case s.extraLength != "" || s.noLength(api) != "":
		s.OutputLimits = "none"
	case s.template == nil && !api.LeastLength():
		s.OutputLimits = "most"
	}
}

// batchSize reads how many requests make one: Triton's batch.
func (p *parser) batchSize(s *settings) {
	switch {
	case s.ServiceKind == kindOpenAI && s.BatchSize != 1:
		p.errorf("-b %d: OpenAI requests are not batched; for several texts in one give --batch-size-text", s.BatchSize)
	case s.ServiceKind == kindOpenAI:
		s.BatchSize = 0
	case s.BatchSize < 1:
		p.errorf("-b %d: the batch size must be at least 1", s.BatchSize)
	}
}

// batches reads how many texts a request has.
func (p *parser) batches(s *settings) {
	s.BatchTexts = p.positive("batch-size-text", p.c.Int("batch-size-text"))
	p.refuse(s.BatchTexts > 1 && (s.MadeSessions > 0 || s.conversations()), "--batch-size-text %d: the turns of a conversation have one text each", s.BatchTexts)
	if api, ok := render.APIOf(s.endpointPath()); ok && s.template == nil && (api == render.Transcription || api == render.Realtime) {
		p.refuse(s.BatchTexts > 1, "--batch-size-text %d: a request to %s has one audio clip; drop it", s.BatchTexts, s.Endpoint)
	}
	p.refuse(s.BatchImages > 1 && (s.MadeSessions > 0 || s.conversations()), "--batch-size-image %d: the turns of a conversation are not combined", s.BatchImages)
	p.refuse(s.BatchImages > 0 && !s.hasMedia() && !s.readsFiles(), "--batch-size-image needs --image-width-mean and --image-height-mean, or --input-data with images")
	p.refuse(s.BatchTexts > 0 && s.inputLengths == nil && !s.readsFiles(), "--batch-size-text puts prompts together; give --input-data or --synthetic-input-tokens-mean")
}

// ranks reports whether each request holds a query and passages to rank.
func (s *settings) ranks() bool {
	if s.ServiceKind != kindOpenAI {
		return false
	}
	if t := s.template; t != nil {
		return t.Uses(render.PlaceholderQuery) || t.Uses(render.PlaceholderPassages) || t.Uses(render.PlaceholderDocuments)
	}
	api, _ := s.api()
	return api.Ranks()
}

// requestTemplate reads the form of the requests.
func (p *parser) requestTemplate(s *settings) {
	text := p.c.String("request-template")
	if text == "" {
		return
	}
	var err error
	if s.template, err = render.ParseTemplate([]byte(text)); err != nil {
		p.errorf("--request-template: %w", err)
		return
	}
	if info, err := openai.InspectRequest([]byte(text)); err == nil {
		s.templateStreams = info.Stream
	}
	s.RequestTemplate = redactedJSON(text)
	s.bodies = append(s.bodies, text)
	for _, flag := range p.given("backend", "include-usage", "output-tokens-mean-deterministic") {
		p.errorf("--request-template decides everything in a request; drop --%s", flag)
	}
	s.IncludeUsage = false
	p.refuse(s.ServiceKind == kindTriton && s.inputLengths == nil && !s.readsFiles(), "--request-template needs prompts; give --input-data or --synthetic-input-tokens-mean")
}

// dataset reads which part of the files is sent, and in which order.
func (p *parser) dataset(s *settings) {
	c := p.c
	kind, err := workload.ParseOrderKind(c.String("dataset-sampling-strategy"))
	p.refuse(err != nil, "--dataset-sampling-strategy: %w", err)
	if s.sendOrder = (workload.Order{Kind: kind, Seed: s.Seed}); kind != workload.Sequential {
		s.Order = kind.String()
	}
	switch how := c.String("prompts"); how {
	case freshPrompts, restartPrompts:
		s.restart = how == restartPrompts
	default:
		p.errorf("--prompts %s: expected fresh or restart", how)
	}
	s.DatasetEntries = p.positive("num-dataset-entries", c.Int("num-dataset-entries"))
	s.entriesAsked = len(s.InputData) > 0 && c.IsSet("num-dataset-entries")
	s.BlockTokens = p.positive("block-tokens", c.Int("block-tokens"))
	if s.TraceRows != "" && s.TraceRows != string(dataset.RowsWhole) && s.TraceRows != string(dataset.RowsNew) {
		p.errorOnce("trace-rows", "--trace-rows %s: expected whole or new", s.TraceRows)
	}
	switch s.SessionHistory {
	case "", liveHistory, recordedHistory, serverHistory:
	default:
		p.errorOnce("session-history", "--session-history %s: expected live, recorded or server", s.SessionHistory)
	}
	p.refuse(s.spool.MaxBytes < 0, "--max-spool %d: give a number of bytes above 0", s.spool.MaxBytes)
	if text := c.String("trace-window"); text != "" {
		s.WindowFrom, s.WindowTo, err = parseWindow(text)
		p.refuse(err != nil, "--trace-window %s: %w", text, err)
	}
	layout, window := dataset.Options{Layout: s.Layout}, dataset.Options{From: time.Duration(s.WindowFrom), To: time.Duration(s.WindowTo)}
	if err := layout.Validate(); err != nil {
		p.errorf("--dataset: %w", err)
	}
	if err := window.Validate(); err != nil {
		p.errorf("--trace-window: %w", err)
	}
	p.refuse(kind != workload.Sequential && c.Bool("fixed-schedule"), "--fixed-schedule sends the entries in the order of their times; drop --dataset-sampling-strategy")
}

// aboutFiles refuses flags that are about files where there are none.
func (p *parser) aboutFiles(s *settings) {
	if len(s.InputData) > 0 && !s.madeTensors() {
		return
	}
	if s.namesDataset() {
		p.nameDataset(s)
		return
	}
	flags := []string{"dataset", "trace-window", "block-tokens", "trace-rows"}
	if !p.c.IsSet("agents") {
		flags = append(flags, "session-history")
	}
	if !s.madeUp {
		flags = append(flags, "num-dataset-entries")
	}
	for _, flag := range p.given(flags...) {
		p.errorOnce(flag, "--%s applies to files; give them with --input-data", flag)
	}
}

// parseWindow reads "10m:15m"; either end may be missing.
func parseWindow(text string) (from, to millis, err error) {
	first, last, ok := strings.Cut(text, ":")
	if !ok {
		return 0, 0, errors.New("expected FROM:TO, such as 10m:15m")
	}
	end := func(text string) (d time.Duration) {
		if text != "" && err == nil {
			d, err = time.ParseDuration(text)
		}
		return d
	}
	from, to = millis(end(first)), millis(end(last))
	return from, to, err
}

// shapes reads the dimensions of tensors.
func (p *parser) shapes(s *settings) {
	for _, text := range p.c.StringSlice("shape") {
		i := strings.LastIndexByte(text, ':')
		if i < 1 {
			p.errorf("--shape %s: expected name:d1,d2", text)
			continue
		}
		var dims []int64
		for _, d := range strings.Split(text[i+1:], ",") {
			n, err := strconv.ParseInt(d, 10, 64)
			p.refuse(err != nil || n < 1, "--shape %s: %q is not a positive whole number", text, d)
			dims = append(dims, n)
		}
		if s.Shapes == nil {
			s.Shapes = map[string][]int64{}
		}
		s.Shapes[text[:i]] = dims
	}
}

// hubDatasets holds the datasets that --dataset finds without files, by layout.
// GenAI-Perf 24.03 to 24.10 uses the same rows of the first two.
var hubDatasets = map[string]hub.Dataset{
	"openorca": {Name: "Open-Orca/OpenOrca", Config: "default", Split: "train", Files: []string{"*.parquet"}},
	"cnn_dailymail": {
		Name: "abisee/cnn_dailymail", Config: "1.0.0", Split: "train",
		Files: []string{"1.0.0/train-*.parquet", "3.0.0/train-*.parquet"},
	},
	"sharegpt": {
		Name: "anon8231489123/ShareGPT_Vicuna_unfiltered", Config: "default", Split: "train",
		Files: []string{"ShareGPT_V3_unfiltered_cleaned_split.json", "*.json"},
	},
}

// namesDataset reports whether --dataset names a dataset of Hugging Face and no file of it
// is given.
func (s *settings) namesDataset() bool {
	_, ok := hubDatasets[s.Layout]
	return ok && len(s.InputData) == 0
}

// nameDataset checks the settings of a dataset without files.
func (p *parser) nameDataset(s *settings) {
	p.refuse(s.inputLengths != nil, "--dataset and synthetic prompts (--synthetic-input-tokens, --num-sessions) exclude each other; drop one")
	for _, flag := range p.given("trace-window", "block-tokens", "trace-rows") {
		p.errorf("--%s applies to a trace; give its file with --input-data", flag)
	}
	if s.DatasetEntries == 0 {
		s.DatasetEntries = defaultEntries
	}
}

// flagExport is the flag of exports, as people type it.
const flagExport = "--profile-export-file"

// checkFiles refuses a run that would write a file that it reads, or write a file twice. The
// error is a usage error.
func (s *settings) checkFiles(c *cli.Context) error {
	files := cmdline.Files(c)
	runs := s.plannedRuns()
	for i := range runs {
		addExports(c, runs[i].Exports)
		if path, ok := journal.PathForAll(runs[i].Exports); ok {
			files.WritesFor(flagExport, "the journal", path)
		}
		csv := runs[i].CSV
		files.Writes("-f", csv)
		if s.ServiceKind == kindTriton { // which can have ensembles
			ending := "." + filepath.Base(csv)
			files.WritesSome("-f", "the CSV file for a model", csv, func(name string) bool { return strings.HasSuffix(name, ending) })
		}
	}
	files.Writes("--html", s.HTML)
	return cmdline.CheckFiles(c)
}

// addExports adds exports to the files of the command line.
func addExports(c *cli.Context, paths []string) {
	for _, path := range paths {
		cmdline.Files(c).Writes(flagExport, path)
	}
}

// readsData marks a flag that names input data.
func readsData(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		if value == "zero" || value == "random" {
			return nil
		}
		return dataFiles(value)
	})
}

// dataFiles returns the files of input data. For a folder they are its data files, or without
// such files the files of its tensors; otherwise path itself.
func dataFiles(path string) []string {
	inside, err := os.ReadDir(path)
	if err != nil {
		return []string{path}
	}
	var data, tensors []string
	for _, e := range inside {
		at := filepath.Join(path, e.Name())
		switch {
		case e.IsDir() || strings.HasPrefix(e.Name(), ".") && !dataset.IsDataFile(e.Name()):
		case dataset.IsDataFile(e.Name()):
			data = append(data, at)
		default:
			tensors = append(tensors, at)
		}
	}
	if len(data) > 0 {
		return data
	}
	return tensors
}

// readsTokenizer marks a flag that names a tokenizer.
func readsTokenizer(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		home, _ := os.UserHomeDir()
		return hub.FilesFromEnv(os.Getenv, home, value)
	})
}

// readsNamedDataset marks the flag that may name a dataset of Hugging Face's cache.
func readsNamedDataset(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		d, ok := hubDatasets[value]
		if !ok {
			return nil
		}
		home, _ := os.UserHomeDir()
		h := hub.Config{Cache: hub.CacheFromEnv(os.Getenv, home)}
		return append(h.CachedFiles(d), hub.TokenFileFromEnv(os.Getenv, home))
	})
}

// readsLaw marks a flag whose lengths may follow the histogram of a file.
func readsLaw(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		_, path, ok := strings.Cut(value, "histogram:")
		if !ok {
			return nil
		}
		return []string{path}
	})
}

// readsProgram marks a flag that names a program.
func readsProgram(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		path, err := exec.LookPath(value)
		if err != nil {
			return nil
		}
		return []string{path}
	})
}

// readsFile marks a flag whose value is the path of a file.
func readsFile(f cli.Flag) cli.Flag { return cmdline.Reads(f, nil) }
