package main

import (
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

const lengthLaws = "N, fixed:N, normal:MEAN,STDDEV, uniform:LOW,HIGH, lognormal:MEAN,STDDEV or histogram:FILE"

// syntheticFlags returns the flags for synthetic prompts and the lengths of answers.
func (s *settings) syntheticFlags() []cli.Flag {
	return []cli.Flag{
		readsLaw(&cli.StringFlag{Name: "synthetic-input-tokens", Category: catMadeUp, Usage: "generate prompts whose lengths in tokens follow `LAW`: " + lengthLaws}),
		&cli.Float64Flag{Name: "synthetic-input-tokens-mean", Aliases: []string{"isl"}, Category: catMadeUp, Usage: "generate prompts of `N` tokens on average (normal distribution)", DefaultText: "550"},
		&cli.Float64Flag{Name: "synthetic-input-tokens-stddev", Category: catMadeUp, Usage: "and with standard deviation `N`", DefaultText: "0"},
		readsLaw(&cli.StringFlag{Name: "output-tokens", Category: catMadeUp, Usage: "ask for answers whose lengths follow `LAW`; none asks for no length, not even for the length of a dataset's replies"}),
		&cli.Float64Flag{Name: "output-tokens-mean", Aliases: []string{"osl"}, Category: catMadeUp, Usage: "ask for answers of `N` tokens on average (normal distribution)"},
		&cli.Float64Flag{Name: "output-tokens-stddev", Category: catMadeUp, Usage: "and with standard deviation `N`", DefaultText: "0"},
		&cli.BoolFlag{Name: "output-tokens-mean-deterministic", Category: catMadeUp, Usage: "ask for answers that are not shorter than --output-tokens-mean (min_tokens, ignore_eos, min_length)", Destination: &s.ExactOutput},
		&cli.StringFlag{Name: "max-tokens-field", Category: catMadeUp, Usage: "send the length of an answer as the member `NAME`, such as max_completion_tokens, for servers that refuse max_tokens; an entry that names its own member keeps it", DefaultText: "max_tokens; max_output_tokens of v1/responses", Destination: &s.LengthField},
		&cli.StringFlag{Name: "prompt-ids", Category: catMadeUp, Usage: "send prompts as token ids, `HOW`: FIRST:LAST (synthetic prompts are ids drawn from this range), vocabulary (drawn from the ids of --tokenizer without special ones) or encode (texts, encoded by --tokenizer)", DefaultText: "texts; encode for inference/v1/generate", Destination: &s.PromptIDs},
		&cli.IntFlag{Name: "num-prefix-prompts", Category: catMadeUp, Usage: "begin each prompt with one of `N` shared prefixes", DefaultText: "0", Destination: &s.Prefixes},
		&cli.IntFlag{Name: "prefix-prompt-length", Category: catMadeUp, Usage: "of `N` tokens each", DefaultText: "100", Destination: &s.PrefixTokens},
		&cli.IntFlag{Name: "num-sessions", Category: catMadeUp, Usage: "generate `N` conversations; --agents generates agents with tools"},
		&cli.Float64Flag{Name: "session-turns-mean", Category: catMadeUp, Usage: "of `N` prompts each", DefaultText: "1", Destination: &s.TurnsMean},
		&cli.Float64Flag{Name: "session-turns-stddev", Category: catMadeUp, Usage: "with standard deviation `N`", DefaultText: "0", Destination: &s.TurnsStddev},
		&cli.Float64Flag{Name: "session-turn-delay-mean", Category: catMadeUp, Usage: "the user thinks for `MS` after each answer", DefaultText: "0", Destination: &s.DelayMeanMS},
		&cli.Float64Flag{Name: "session-turn-delay-stddev", Category: catMadeUp, Usage: "with standard deviation `MS`", DefaultText: "0", Destination: &s.DelayStddevMS},
		&cli.Float64Flag{Name: "session-delay-ratio", Category: catMadeUp, Usage: "multiply think times, also from files, by `R`", DefaultText: "1"},
		&cli.StringFlag{Name: "cache-bust", Category: catMadeUp, Usage: "begin each prompt with new text for each level and run, so that the server cannot reuse cached prompts; or put a new marker for each play of a session `WHERE`: first-turn-prefix, first-turn-suffix, system-prefix or system-suffix", DefaultText: "none; without a value, each prompt"},
		&cli.StringFlag{Name: "cache-salt", Category: catMadeUp, Usage: "like --cache-bust, but command lines with the same `TEXT` begin their prompts with the same texts", DefaultText: "new for each command line", Destination: &s.CacheSalt},
		readsTokenizer(&cli.StringFlag{Name: "tokenizer", Category: catMadeUp, Usage: "count tokens with `NAME`: a tokenizer.json, tiktoken or tekken.json file, a folder, or a model of Hugging Face's cache or hub; built-in is pa-record's own", DefaultText: "built-in", Destination: &s.Tokenizer}),
		readsTokenizer(&cli.StringFlag{Name: "default-tokenizer", Category: catMadeUp, Usage: "like --tokenizer, but use the built-in tokenizer if `NAME` is not available", Destination: &s.DefaultTokenizer}),
	}
}

// DefaultEntries is the number of prompts that are made up by default, if no level is known
// to send more; then as many as the largest level sends, up to mostMadeEntries.
const (
	defaultEntries  = 100
	mostMadeEntries = 2000
)

// syntheticSettings holds the settings of made-up data; the zero value makes up none.
type syntheticSettings struct {
	InputLaw      string  `json:"synthetic_input_tokens,omitempty"`
	OutputLaw     string  `json:"output_tokens,omitempty"`
	ExactOutput   bool    `json:"output_tokens_exact,omitempty"`
	OutputLimits  string  `json:"output_limits,omitempty"` // "none": no request asks for these lengths; "most": requests cannot ask for a least length
	LengthField   string  `json:"max_tokens_field,omitempty"`
	PromptIDs     string  `json:"prompt_ids,omitempty"`
	Prefixes      int     `json:"num_prefix_prompts,omitempty"`
	PrefixTokens  int     `json:"prefix_prompt_length,omitempty"`
	MadeSessions  int     `json:"num_sessions,omitempty"`
	TurnsMean     float64 `json:"session_turns_mean,omitempty"`
	TurnsStddev   float64 `json:"session_turns_stddev,omitempty"`
	DelayMeanMS   float64 `json:"session_turn_delay_mean_ms,omitempty"`
	DelayStddevMS float64 `json:"session_turn_delay_stddev_ms,omitempty"`
	// DelayRatio multiplies think times; nil is 1.
	DelayRatio *float64 `json:"session_delay_ratio,omitempty"`
	CacheSalt  string   `json:"cache_salt,omitempty"`

	Agents *agentSettings `json:"agents,omitempty"` // nil: none

	Tokenizer        string `json:"tokenizer,omitempty"`
	DefaultTokenizer string `json:"default_tokenizer,omitempty"`

	inputLengths, outputLengths synth.LengthDistribution // nil: none
	madeUp                      bool                     // a flag asks for made-up prompts, even if its value is wrong
	ids                         synth.PromptIDs
	noOutputLength              bool // requests ask for no length, even if the data has one
	builtinEntries              int  // number of built-in prompts
}

// makesPrompts reports whether the prompts are made up.
func (s *syntheticSettings) makesPrompts() bool { return s.inputLengths != nil || s.Agents != nil }

// synthetic reads the settings of made-up data.
func (p *parser) synthetic(s *settings) {
	c := p.c
	p.media(s)
	s.inputLengths = p.law("synthetic-input-tokens", 550)
	p.promptIDs(s)
	s.madeUp = s.hasMedia() || len(p.given("synthetic-input-tokens", "synthetic-input-tokens-mean", "synthetic-input-tokens-stddev", "num-sessions")) > 0 || s.ids.Draws() && s.inputLengths != nil
	if (c.IsSet("num-sessions") || s.hasMedia()) && s.inputLengths == nil {
		s.inputLengths = synth.Normal{Mean: 550}
	}
	if s.inputLengths != nil {
		s.InputLaw = s.inputLengths.String()
		if s.DatasetEntries == 0 && !c.IsSet("num-sessions") {
			s.DatasetEntries = defaultEntries
		}
	}
	if s.noOutputLength = c.String("output-tokens") == "none"; !s.noOutputLength {
		s.outputLengths = p.law("output-tokens", 0)
	}
	if s.outputLengths != nil {
		s.OutputLaw = s.outputLengths.String()
	} else if s.noOutputLength {
		s.OutputLaw = "none"
	}
	p.refuse(s.ExactOutput && s.outputLengths == nil, "--output-tokens-mean-deterministic needs --output-tokens-mean or --output-tokens")
	p.agents(s)
	p.lengthField(s)
	p.prefixes(s)
	p.conversations(s)
	p.salt(s)
	p.refuse(s.Tokenizer != "" && s.DefaultTokenizer != "", "--tokenizer and --default-tokenizer exclude each other; drop one")
	if !s.makesPrompts() && !s.readsFiles() {
		for _, flag := range p.given("num-prefix-prompts", "prefix-prompt-length") {
			p.errorOnce(flag, "--%s applies to prompts; give --synthetic-input-tokens-mean or --input-data, or drop it", flag)
		}
	}
	p.refuse(s.inputLengths != nil && len(s.InputData) > 0, "--input-data and synthetic prompts (--synthetic-input-tokens, --num-sessions, --image-width-mean, --audio-length-mean) exclude each other; drop one")
}

// promptIDs reads whether prompts are token ids.
func (p *parser) promptIDs(s *settings) {
	if s.PromptIDs == "" {
		return
	}
	var err error
	s.ids, err = synth.ParsePromptIDs(s.PromptIDs)
	p.refuse(err != nil, "--prompt-ids %s: %w", s.PromptIDs, err)
	p.refuse(err == nil && !s.ids.Range && p.c.String("tokenizer") == "", "--prompt-ids %s: the ids come from the model's tokenizer; give it with --tokenizer", s.PromptIDs)
	api, _ := s.api()
	p.refuse(s.ServiceKind != kindOpenAI || !api.TakesIDs() || p.c.IsSet("request-template"), "--prompt-ids needs an endpoint that takes ids: v1/completions, inference/v1/generate, or generate with --backend sglang")
	files := len(s.InputData) > 0 || s.namesDataset()
	p.refuse(s.ids.Draws() && files && (p.c.IsSet("cache-bust") || p.c.IsSet("cache-salt") || s.Prefixes+s.PrefixTokens > 0), "--prompt-ids %s: the prompts of a trace cannot get a prefix; drop --cache-bust, --cache-salt and --num-prefix-prompts", s.PromptIDs)
	if s.ids.Draws() && !files && s.inputLengths == nil {
		s.inputLengths = synth.Normal{Mean: 550}
	}
}

// madeEntries sets how many prompts are made up, unless a flag says it: enough for each
// level whose number of requests is known, so that no level sends a prompt twice.
func (p *parser) madeEntries(s *settings) {
	s.builtinEntries = defaultEntries
	for _, level := range s.levels {
		t := level.Traits()
		n := max(float64(s.Measure.Requests), float64(s.Measure.Times)*t.Amount, t.PerSecond*(time.Duration(s.WarmupDuration)+s.Measure.Duration).Seconds())
		s.builtinEntries = max(s.builtinEntries, int(math.Ceil(min(n+float64(s.Warmup), mostMadeEntries))))
	}
	if s.inputLengths != nil && s.MadeSessions == 0 && !p.c.IsSet("num-dataset-entries") {
		s.DatasetEntries = s.builtinEntries
	}
}

// lengthField reads the name of the answers' lengths in requests.
func (p *parser) lengthField(s *settings) {
	const flag = "max-tokens-field"
	api, _ := s.api()
	if s.ServiceKind == kindOpenAI {
		s.promptMember = api.PromptMember()
		if i := slices.IndexFunc(api.LengthMembers(), s.extraMember); i >= 0 && !p.c.IsSet("request-template") {
			s.extraLength = api.LengthMembers()[i]
		}
	}
	if !p.c.IsSet(flag) {
		return
	}
	switch {
	case s.LengthField == "":
		p.errorOnce(flag, "--%s: the name is empty; give one such as max_completion_tokens, or drop it", flag)
	case s.ServiceKind != kindOpenAI:
		p.errorOnce(flag, "--%s belongs to --service-kind openai", flag)
	case p.c.IsSet("request-template"):
		p.errorOnce(flag, "--%s: --request-template decides everything in a request; drop one", flag)
	case s.extraLength != "" && s.extraLength != s.LengthField:
		p.errorOnce(flag, "--%s %s: --extra-body sets %s, and a request has one length; drop one", flag, s.LengthField, s.extraLength)
	case api.LengthMembers() == nil, api != render.Chat && api != render.Completions && api != render.Responses && !slices.Contains(api.LengthMembers(), s.LengthField):
		p.errorOnce(flag, "--%s does not fit --endpoint %s: only chats, completions and responses have such a member; drop it", flag, s.Endpoint)
	}
}

// law reads --name, or --name-mean and --name-stddev; nil if none is given.
func (p *parser) law(name string, mean float64) synth.LengthDistribution {
	c := p.c
	meanGiven, stddevGiven := c.IsSet(name+"-mean"), c.IsSet(name+"-stddev")
	var law synth.LengthDistribution
	var err error
	switch {
	case c.IsSet(name) && (meanGiven || stddevGiven):
		p.errorf("--%s and --%s-mean exclude each other; drop one", name, name)
	case c.IsSet(name):
		if law, err = synth.ParseLengthDistribution(c.String(name)); err != nil {
			p.errorf("--%s: %w", name, err)
			return nil
		}
	case stddevGiven && !meanGiven && mean == 0:
		p.errorf("--%s-stddev needs --%s-mean", name, name)
	case meanGiven || stddevGiven:
		if meanGiven {
			mean = c.Float64(name + "-mean")
		}
		law = synth.Normal{Mean: mean, Stddev: c.Float64(name + "-stddev")}
		if err := law.Validate(); err != nil {
			p.errorf("--%s-mean: %w", name, err)
			return nil
		}
	}
	return law
}

// prefixes reads the flags of prefixes that prompts share.
func (p *parser) prefixes(s *settings) {
	c := p.c
	switch {
	case s.Prefixes < 0:
		p.errorOnce("num-prefix-prompts", "--num-prefix-prompts %d: must not be negative", s.Prefixes)
	case !c.IsSet("num-prefix-prompts") && s.PrefixTokens > 0:
		s.Prefixes = 1
	}
	if s.Prefixes > 0 && !c.IsSet("prefix-prompt-length") {
		s.PrefixTokens = 100
	}
	if c.IsSet("prefix-prompt-length") && s.PrefixTokens < 1 {
		p.errorOnce("prefix-prompt-length", "--prefix-prompt-length %d: must be at least 1", s.PrefixTokens)
	}
	if s.Prefixes == 0 {
		s.PrefixTokens = 0
	}
}

// conversations reads the flags of synthetic conversations (--num-sessions and the like).
func (p *parser) conversations(s *settings) {
	c := p.c
	s.MadeSessions = p.positive("num-sessions", c.Int("num-sessions"))
	if s.MadeSessions > 0 && !c.IsSet("session-turns-mean") {
		s.TurnsMean = 1
	}
	if c.IsSet("session-delay-ratio") {
		ratio := c.Float64("session-delay-ratio")
		s.DelayRatio = &ratio
		p.refuse(!(ratio >= 0), "--session-delay-ratio %v: must not be negative", ratio)
	}
	for _, flag := range []string{"session-turns-mean", "session-turns-stddev", "session-turn-delay-mean", "session-turn-delay-stddev"} {
		if c.IsSet(flag) && !c.IsSet("num-sessions") {
			p.errorOnce(flag, "--%s belongs to --num-sessions; give that, or drop it", flag)
		}
	}
	p.refuse(c.IsSet("num-sessions") && c.IsSet("num-dataset-entries"), "--num-sessions and --num-dataset-entries exclude each other: the turns give the number of prompts; drop one")
	if s.MadeSessions == 0 {
		return
	}
	if err := (synth.Normal{Mean: s.TurnsMean, Stddev: s.TurnsStddev}).Validate(); err != nil {
		p.errorf("--session-turns-mean: %w", err)
	}
	if err := s.thinkTime().Validate(); err != nil {
		p.errorf("--session-turn-delay-mean: %w", err)
	}
}

// levelSalt returns the text on which the beginnings of the prompts of a level depend:
// CacheSalt itself for the first level of the first run, else with the numbers of run and
// level; "" without a salt.
func (s *syntheticSettings) levelSalt(set workload.Set) string {
	if s.CacheSalt == "" || set == (workload.Set{}) {
		return s.CacheSalt
	}
	return fmt.Sprintf("%s.%d.%d", s.CacheSalt, set.Run+1, set.Level+1)
}

// salt reads what prompts begin with. --cache-bust draws a new text.
func (p *parser) salt(s *settings) {
	if !p.bustsEntries() {
		return
	}
	p.refuse(s.CacheSalt != "", "--cache-bust and --cache-salt exclude each other; drop one")
	s.CacheSalt = rand.Text()
}

func (s *syntheticSettings) thinkTime() *synth.Delay {
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	return &synth.Delay{Mean: ms(s.DelayMeanMS), Stddev: ms(s.DelayStddevMS)}
}

// mediaFlags returns the flags for the images and audio of made-up prompts, with the names
// of GenAI-Perf and AIPerf.
func (s *settings) mediaFlags() []cli.Flag {
	return []cli.Flag{
		&cli.Float64Flag{Name: "image-width-mean", Category: catMedia, Usage: "generate an image of `PX` pixels width for each synthetic prompt", Destination: &s.ImageWidthMean},
		&cli.Float64Flag{Name: "image-width-stddev", Category: catMedia, Usage: "with standard deviation `PX`", DefaultText: "0", Destination: &s.ImageWidthStddev},
		&cli.Float64Flag{Name: "image-height-mean", Category: catMedia, Usage: "and `PX` pixels height", Destination: &s.ImageHeightMean},
		&cli.Float64Flag{Name: "image-height-stddev", Category: catMedia, Usage: "with standard deviation `PX`", DefaultText: "0", Destination: &s.ImageHeightStddev},
		&cli.StringFlag{Name: "image-format", Category: catMedia, Usage: "as `FORMAT` png or jpeg", DefaultText: "png"},
		&cli.StringFlag{Name: "image-content", Category: catMedia, Usage: "the image shows `WHAT`: scene (about as many bytes as a photograph) or noise", DefaultText: "scene"},
		&cli.IntFlag{Name: "batch-size-image", Category: catMedia, Usage: "put `N` images into a request, also from files with one in each entry", DefaultText: "1"},
		&cli.Float64Flag{Name: "audio-length-mean", Category: catMedia, Usage: "generate an audio clip of `S` seconds for each synthetic prompt", Destination: &s.AudioLengthMean},
		&cli.Float64Flag{Name: "audio-length-stddev", Category: catMedia, Usage: "with standard deviation `S`", DefaultText: "0", Destination: &s.AudioLengthStddev},
		&cli.StringFlag{Name: "audio-format", Category: catMedia, Usage: "as `FORMAT` wav", DefaultText: "wav"},
		&cli.StringFlag{Name: "audio-depths", Category: catMedia, Usage: "with one of `BITS,…` a sample: 8, 16, 24, 32", DefaultText: "16"},
		&cli.StringFlag{Name: "audio-sample-rates", Category: catMedia, Usage: "at one of `KHZ,…`", DefaultText: "16"},
		&cli.IntFlag{Name: "audio-num-channels", Category: catMedia, Usage: "with `N` channels, 1 or 2", DefaultText: "1"},
		&cli.IntFlag{Name: "batch-size-audio", Category: catMedia, Usage: "`N` audio clips in a request", DefaultText: "1"},
	}
}

// mediaSettings are the images and audio of made-up prompts; the zero value has none.
type mediaSettings struct {
	ImageWidthMean    float64 `json:"image_width_mean,omitempty"`
	ImageWidthStddev  float64 `json:"image_width_stddev,omitempty"`
	ImageHeightMean   float64 `json:"image_height_mean,omitempty"`
	ImageHeightStddev float64 `json:"image_height_stddev,omitempty"`
	ImageFormat       string  `json:"image_format,omitempty"`
	ImageContent      string  `json:"image_content,omitempty"`
	BatchImages       int     `json:"batch_size_image,omitempty"`

	AudioLengthMean   float64   `json:"audio_length_mean_s,omitempty"`
	AudioLengthStddev float64   `json:"audio_length_stddev_s,omitempty"`
	AudioDepths       []int     `json:"audio_depths,omitempty"`
	AudioSampleRates  []float64 `json:"audio_sample_rates_khz,omitempty"`
	AudioChannels     int       `json:"audio_num_channels,omitempty"`
	BatchAudio        int       `json:"batch_size_audio,omitempty"`

	media synth.Media
}

// hasMedia reports whether made-up prompts have images or audio.
func (m *mediaSettings) hasMedia() bool {
	return m.media.ImagesPerPrompt+m.media.AudioPerPrompt > 0
}

// media reads the flags of images and audio.
func (p *parser) media(s *settings) {
	c, m := p.c, &s.mediaSettings
	s.BatchImages = p.positive("batch-size-image", c.Int("batch-size-image"))
	s.BatchAudio = p.positive("batch-size-audio", c.Int("batch-size-audio"))
	m.media.Seed = s.Seed
	switch width, height := c.IsSet("image-width-mean"), c.IsSet("image-height-mean"); {
	case width && height:
		p.images(m)
	case width || height:
		p.errorf("images have a width and a height; give --image-width-mean and --image-height-mean")
	default:
		p.withoutMean("image-width-mean and --image-height-mean", "image-width-stddev", "image-height-stddev", "image-format", "image-content")
	}
	if c.IsSet("audio-length-mean") {
		p.audio(m)
	} else {
		p.withoutMean("audio-length-mean", "audio-length-stddev", "audio-format", "audio-depths", "audio-sample-rates", "audio-num-channels", "batch-size-audio")
	}
	p.refuse(s.hasMedia() && c.IsSet("num-sessions"), "--num-sessions: the turns of synthetic conversations hold text only; drop the flags for images and audio")
}

// withoutMean refuses flags about media without the flag that makes them.
func (p *parser) withoutMean(mean string, flags ...string) {
	for _, flag := range p.given(flags...) {
		p.errorf("--%s needs --%s", flag, mean)
	}
}

// images reads the flags of synthetic images.
func (p *parser) images(m *mediaSettings) {
	c := p.c
	made := &m.media.Images
	made.Width, made.Height = synth.Normal{Mean: m.ImageWidthMean, Stddev: m.ImageWidthStddev}, synth.Normal{Mean: m.ImageHeightMean, Stddev: m.ImageHeightStddev}
	var err error
	if name := c.String("image-format"); name != "" {
		made.Format, err = synth.ParseImageFormat(name)
		p.refuse(err != nil, "--image-format %w", err)
	}
	if name := c.String("image-content"); name != "" {
		made.Content, err = synth.ParseImageContent(name)
		p.refuse(err != nil, "--image-content %w", err)
	}
	m.ImageFormat, m.ImageContent = made.Format.String(), made.Content.String()
	if err := made.Validate(); err != nil {
		p.errorf("images: %w", err)
	}
	m.media.ImagesPerPrompt = max(1, m.BatchImages)
}

// audio reads the flags of synthetic audio clips.
func (p *parser) audio(m *mediaSettings) {
	c := p.c
	depths, rates := p.numbers("audio-depths", 16), p.numbers("audio-sample-rates", 16)
	if m.AudioChannels = c.Int("audio-num-channels"); !c.IsSet("audio-num-channels") {
		m.AudioChannels = 1
	}
	switch format := c.String("audio-format"); format {
	case "", "wav":
	case "mp3":
		p.errorf("--audio-format mp3 is not supported: pa-record has no encoder for it; use wav, or give --input-data files with audio clips")
	default:
		p.errorf("--audio-format %.40q: expected wav", format)
	}
	made := &m.media.Audio
	made.Seconds = synth.AudioLength{Mean: m.AudioLengthMean, Stddev: m.AudioLengthStddev}
	made.Channels = m.AudioChannels
	for _, bits := range depths {
		p.refuse(bits != math.Trunc(bits), "--audio-depths %v: must be a whole number", bits)
		made.Depths = append(made.Depths, int(bits))
	}
	for _, khz := range rates {
		made.SampleRates = append(made.SampleRates, int(math.Round(khz*1000)))
	}
	m.AudioDepths, m.AudioSampleRates = made.Depths, rates
	if err := made.Validate(); err != nil {
		p.errorf("audio clips: %w", err)
	}
	m.media.AudioPerPrompt = max(1, m.BatchAudio)
}

// numbers reads a list of numbers with commas between them; without the flag it returns
// initial.
func (p *parser) numbers(flag string, initial float64) []float64 {
	if !p.c.IsSet(flag) {
		return []float64{initial}
	}
	var all []float64
	for field := range strings.SplitSeq(p.c.String(flag), ",") {
		f, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil || !(f >= 1 && f <= 1e6) {
			p.errorf("--%s %s: %.40q is not a number of at least 1", flag, p.c.String(flag), field)
			f = initial
		}
		all = append(all, f)
	}
	return all
}

// perf_analyzer's defaults.
const (
	defaultSequenceLength    = 20
	defaultSequenceVariation = 20.0 // percent
)

// sequenceFlags returns the flags for sequences of requests to stateful models.
func (s *settings) sequenceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "num-of-sequences", Category: catSequence, Usage: "run `N` sequences at a time when the load is a rate; with a concurrency, each request in flight has its own", Value: load.DefaultLiveSequences},
		&cli.IntFlag{Name: "sequence-length", Category: catSequence, Usage: "`N` requests in a sequence", DefaultText: "the steps of its stream of input data; 20 for random tensors"},
		&cli.Float64Flag{Name: "sequence-length-variation", Category: catSequence, Usage: "vary the sequence length by up to `PCT` %, unless each stream is sent once", Value: defaultSequenceVariation},
		&cli.StringFlag{Name: "sequence-id-range", Category: catSequence, Usage: "take ids of sequences from `FIRST:LAST`", DefaultText: "1:4294967295", Destination: &s.Sequence.IDs},
		&cli.BoolFlag{Name: "serial-sequences", Category: catSequence, Usage: "accepted for perf_analyzer's command lines; a sequence always has at most one request in flight"},
	}
}

// sequenceSettings holds the settings of the sequences for a stateful model.
type sequenceSettings struct {
	Live      int      `json:"num_of_sequences,omitempty"`
	Length    int      `json:"sequence_length,omitempty"`
	Variation *float64 `json:"sequence_length_variation,omitempty"` // percent
	IDs       string   `json:"sequence_id_range,omitempty"`

	asked load.Sequences
}

// IsZero reports whether no flag of sequences was given.
func (q sequenceSettings) IsZero() bool {
	return q.Live == 0 && q.Length == 0 && q.Variation == nil && q.IDs == ""
}

// sequences reads the flags of sequences of a Triton model that keeps state.
func (p *parser) sequences(s *settings) {
	c, q := p.c, &s.Sequence
	if c.IsSet("num-of-sequences") {
		q.Live = p.positive("num-of-sequences", c.Int("num-of-sequences"))
	}
	if c.IsSet("sequence-length") {
		if q.Length = c.Int("sequence-length"); q.Length < 1 {
			s.note("--sequence-length %d: must be at least 1; it is %d", q.Length, defaultSequenceLength)
			q.Length = defaultSequenceLength
		}
	}
	variation := c.Float64("sequence-length-variation")
	if c.IsSet("sequence-length-variation") {
		q.Variation = &variation
		p.refuse(!(variation >= 0), "--sequence-length-variation %v: must not be negative", variation)
	}
	q.asked = load.Sequences{Live: q.Live, Length: q.Length, Variation: variation / 100}
	if q.IDs != "" {
		var err error
		q.asked.First, q.asked.Last, err = load.ParseSequenceIDs(q.IDs)
		p.refuse(err != nil, "--sequence-id-range %s: %w", q.IDs, err)
	}
	p.refuse(!q.IsZero() && s.ServiceKind != kindTriton, "sequences are for Triton's models that keep state; drop --num-of-sequences and --sequence-…")
}

// resolve returns the sequences for data that is read from files, or made up: a file
// says itself how long they are.
func (q *sequenceSettings) resolve(files bool, seed uint64) load.Sequences {
	r := q.asked
	if r.Seed = seed; r.Length == 0 && !files {
		r.Length = defaultSequenceLength
	}
	return r
}

// sequences returns the sequences of the load. files reports whether the data is read
// from files, which say themselves how long their sequences are.
func (s *settings) sequences(files bool) load.Sequences {
	return s.Sequence.resolve(files, s.Seed)
}
