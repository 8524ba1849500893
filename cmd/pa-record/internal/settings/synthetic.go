package settings

import (
	"crypto/rand"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

const laws = "N, fixed:N, normal:MEAN,STDDEV, uniform:LOW,HIGH, lognormal:MEAN,STDDEV or histogram:FILE"

// syntheticFlags returns the flags for synthetic prompts and the lengths of answers.
func syntheticFlags() []cli.Flag {
	return []cli.Flag{
		readsLaw(&cli.StringFlag{Name: "synthetic-input-tokens", Category: catMadeUp, Usage: "make up prompts whose lengths in tokens follow `LAW`: " + laws}),
		&cli.Float64Flag{Name: "synthetic-input-tokens-mean", Aliases: []string{"isl"}, Category: catMadeUp, Usage: "make up prompts whose lengths are normal with mean `N`", DefaultText: "550"},
		&cli.Float64Flag{Name: "synthetic-input-tokens-stddev", Category: catMadeUp, Usage: "and with standard deviation `N`", DefaultText: "0"},
		readsLaw(&cli.StringFlag{Name: "output-tokens", Category: catMadeUp, Usage: "ask for answers whose lengths follow `LAW`; none asks for no length, not even the length of a dataset's replies"}),
		&cli.Float64Flag{Name: "output-tokens-mean", Aliases: []string{"osl"}, Category: catMadeUp, Usage: "ask for answers whose lengths are normal with mean `N`"},
		&cli.Float64Flag{Name: "output-tokens-stddev", Category: catMadeUp, Usage: "and with standard deviation `N`", DefaultText: "0"},
		&cli.BoolFlag{Name: "output-tokens-mean-deterministic", Category: catMadeUp, Usage: "ask for answers that are no shorter than --output-tokens-mean (min_tokens, ignore_eos, min_length)"},
		&cli.StringFlag{Name: "max-tokens-field", Category: catMadeUp, Usage: "send the length of an answer as the member `NAME`, such as max_completion_tokens, for servers that refuse max_tokens; a row that names a member keeps it", DefaultText: "max_tokens; max_output_tokens of v1/responses"},
		&cli.IntFlag{Name: "num-prefix-prompts", Category: catMadeUp, Usage: "put one of `N` shared beginnings before each prompt", DefaultText: "0"},
		&cli.IntFlag{Name: "prefix-prompt-length", Category: catMadeUp, Usage: "of `N` tokens each", DefaultText: "100"},
		&cli.IntFlag{Name: "num-sessions", Category: catMadeUp, Usage: "make up `N` conversations"},
		&cli.Float64Flag{Name: "session-turns-mean", Category: catMadeUp, Usage: "of `N` prompts each", DefaultText: "1"},
		&cli.Float64Flag{Name: "session-turns-stddev", Category: catMadeUp, Usage: "with standard deviation `N`", DefaultText: "0"},
		&cli.Float64Flag{Name: "session-turn-delay-mean", Category: catMadeUp, Usage: "and `MS` of thinking after each answer", DefaultText: "0"},
		&cli.Float64Flag{Name: "session-turn-delay-stddev", Category: catMadeUp, Usage: "with standard deviation `MS`", DefaultText: "0"},
		&cli.Float64Flag{Name: "session-delay-ratio", Category: catMadeUp, Usage: "multiply think times, also of files, by `R`", DefaultText: "1"},
		&cli.BoolFlag{Name: "cache-bust", Category: catMadeUp, Usage: "begin each prompt with text that is new for each level and run, so that the server cannot reuse cached prompts"},
		&cli.StringFlag{Name: "cache-salt", Category: catMadeUp, Usage: "like --cache-bust, but command lines with the same `TEXT` begin their prompts with the same texts", DefaultText: "new for each command line"},
		readsTokenizer(&cli.StringFlag{Name: "tokenizer", Category: catMadeUp, Usage: "count tokens with `NAME`: a tokenizer.json, tiktoken or tekken.json file, a folder, or a model of Hugging Face's cache or hub; built-in is pa-record's own", DefaultText: "built-in"}),
		readsTokenizer(&cli.StringFlag{Name: "default-tokenizer", Category: catMadeUp, Usage: "like --tokenizer, but use the built-in tokenizer if `NAME` is not available"}),
	}
}

// DefaultEntries is the number of prompts that are made up by default, if no level is known
// to send more; then as many as the largest level sends, up to mostMadeEntries.
const (
	DefaultEntries  = 100
	mostMadeEntries = 2000
)

// syntheticSettings holds the settings of made-up data; the zero value makes up none.
type syntheticSettings struct {
	InputLaw      string  `json:"synthetic_input_tokens,omitempty"`
	OutputLaw     string  `json:"output_tokens,omitempty"`
	ExactOutput   bool    `json:"output_tokens_exact,omitempty"`
	LengthField   string  `json:"max_tokens_field,omitempty"`
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

	Tokenizer        string `json:"tokenizer,omitempty"`
	DefaultTokenizer string `json:"default_tokenizer,omitempty"`

	InputLengths, OutputLengths synth.LengthDistribution `json:"-"` // nil: none
	madeUp                      bool                     // a flag asks for made-up prompts, even if its value is wrong
	NoOutputLength              bool                     `json:"-"` // requests ask for no length, even if the data has one
	BuiltinEntries              int                      `json:"-"` // number of built-in prompts
}

// synthetic reads the settings of made-up data.
func (p *parser) synthetic(s *Settings) {
	c := p.c
	p.media(s)
	s.InputLengths = p.law("synthetic-input-tokens", 550)
	for _, flag := range []string{"synthetic-input-tokens", "synthetic-input-tokens-mean", "synthetic-input-tokens-stddev", "num-sessions"} {
		s.madeUp = s.madeUp || c.IsSet(flag)
	}
	s.madeUp = s.madeUp || s.HasMedia()
	if (c.IsSet("num-sessions") || s.HasMedia()) && s.InputLengths == nil {
		s.InputLengths = synth.Normal{Mean: 550}
	}
	if s.InputLengths != nil {
		s.InputLaw = s.InputLengths.String()
		if s.DatasetEntries == 0 && !c.IsSet("num-sessions") {
			s.DatasetEntries = DefaultEntries
		}
	}
	if s.NoOutputLength = c.String("output-tokens") == "none"; !s.NoOutputLength {
		s.OutputLengths = p.law("output-tokens", 0)
	}
	if s.OutputLengths != nil {
		s.OutputLaw = s.OutputLengths.String()
	} else if s.NoOutputLength {
		s.OutputLaw = "none"
	}
	if s.ExactOutput = c.Bool("output-tokens-mean-deterministic"); s.ExactOutput && s.OutputLengths == nil {
		p.errorf("--output-tokens-mean-deterministic needs --output-tokens-mean or --output-tokens")
	}
	p.lengthField(s)
	p.prefixes(s)
	p.conversations(s)
	p.salt(s)
	s.Tokenizer, s.DefaultTokenizer = c.String("tokenizer"), c.String("default-tokenizer")
	if s.Tokenizer != "" && s.DefaultTokenizer != "" {
		p.errorf("--tokenizer and --default-tokenizer exclude each other; drop one")
	}
	if s.InputLengths == nil && !s.NamesDataset() && (len(s.InputData) == 0 || s.MadeTensors()) {
		for _, flag := range []string{"num-prefix-prompts", "prefix-prompt-length"} {
			if c.IsSet(flag) {
				p.wrongf(flag, " is about prompts; give --synthetic-input-tokens-mean or --input-data, or drop it")
			}
		}
	}
	if s.InputLengths != nil && len(s.InputData) > 0 {
		p.errorf("--input-data and prompts that are made up (--synthetic-input-tokens, --num-sessions, --image-width-mean, --audio-length-mean) exclude each other; drop one")
	}
}

// madeEntries sets how many prompts are made up, unless a flag says it: enough for each
// level whose number of requests is known, so that no level sends a prompt twice.
func (p *parser) madeEntries(s *Settings) {
	s.BuiltinEntries = DefaultEntries
	for _, level := range s.Levels {
		t := level.Traits()
		n := max(float64(s.Measurement.Requests), float64(s.Measurement.Times)*t.Amount, t.PerSecond*(s.WarmupDuration+s.Measurement.Duration).Seconds())
		s.BuiltinEntries = max(s.BuiltinEntries, int(math.Ceil(min(n+float64(s.Warmup), mostMadeEntries))))
	}
	if s.InputLengths != nil && s.MadeSessions == 0 && !p.c.IsSet("num-dataset-entries") {
		s.DatasetEntries = s.BuiltinEntries
	}
}

// lengthField reads the name of the answers' lengths in requests.
func (p *parser) lengthField(s *Settings) {
	const flag = "max-tokens-field"
	s.LengthField = p.c.String(flag)
	api, _ := render.APIOf(s.EndpointPath())
	if s.ServiceKind == OpenAI {
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
		p.wrongf(flag, ": the name is empty; give one such as max_completion_tokens, or drop it")
	case s.ServiceKind != OpenAI:
		p.wrongf(flag, " belongs to --service-kind openai")
	case p.c.IsSet("request-template"):
		p.wrongf(flag, ": --request-template says all that is in a request; drop one")
	case s.extraLength != "" && s.extraLength != s.LengthField:
		p.wrongf(flag, " %s: --extra-body sets %s, and a request has one length; drop one", s.LengthField, s.extraLength)
	case api.LengthMembers() == nil:
		p.wrongf(flag, " does not fit --endpoint %s: only chats, completions and responses have such a member; drop it", s.Endpoint)
	}
}

// OtherLengthField returns the member that a server may want for the length of the answer, by the
// message with which it refuses the member that requests have; "" if the message is about
// something else.
func (s *Settings) OtherLengthField(refusal string) string {
	api, _ := render.APIOf(s.EndpointPath())
	if s.ServiceKind != OpenAI || s.Template != nil || api != render.Chat && api != render.Completions {
		return ""
	}
	sent, said := s.lengthName(api), words(refusal)
	refused := unsupported.MatchString(refusal)
	if !slices.Contains(said, sent) || !refused && !replaced.MatchString(refusal) {
		return "" // such as a length beyond the model's
	}
	others := slices.DeleteFunc([]string{"max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"}, func(name string) bool { return name == sent })
	if i := slices.IndexFunc(others, func(name string) bool { return slices.Contains(said, name) }); i >= 0 {
		return others[i]
	}
	if !refused {
		return ""
	}
	return others[0]
}

// unsupported matches the refusal of a member, and replaced the advice to use another one.
var (
	unsupported = regexp.MustCompile(`(?i)unsupported|not supported|unknown|unrecognized|unexpected|extra (inputs|fields)|not permitted`)
	replaced    = regexp.MustCompile(`(?i)\b(use|instead|deprecated)\b`)
)

// words returns the names in a message.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
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

func (p *parser) prefixes(s *Settings) {
	c := p.c
	s.Prefixes, s.PrefixTokens = c.Int("num-prefix-prompts"), c.Int("prefix-prompt-length")
	switch {
	case s.Prefixes < 0:
		p.wrongf("num-prefix-prompts", " %d: must not be negative", s.Prefixes)
	case !c.IsSet("num-prefix-prompts") && s.PrefixTokens > 0:
		s.Prefixes = 1
	}
	if s.Prefixes > 0 && !c.IsSet("prefix-prompt-length") {
		s.PrefixTokens = 100
	}
	if c.IsSet("prefix-prompt-length") && s.PrefixTokens < 1 {
		p.wrongf("prefix-prompt-length", " %d: must be at least 1", s.PrefixTokens)
	}
	if s.Prefixes == 0 {
		s.PrefixTokens = 0
	}
}

func (p *parser) conversations(s *Settings) {
	c := p.c
	s.MadeSessions = p.positive("num-sessions", c.Int("num-sessions"))
	s.TurnsMean, s.TurnsStddev = c.Float64("session-turns-mean"), c.Float64("session-turns-stddev")
	s.DelayMeanMS, s.DelayStddevMS = c.Float64("session-turn-delay-mean"), c.Float64("session-turn-delay-stddev")
	if s.MadeSessions > 0 && !c.IsSet("session-turns-mean") {
		s.TurnsMean = 1
	}
	if c.IsSet("session-delay-ratio") {
		ratio := c.Float64("session-delay-ratio")
		if s.DelayRatio = &ratio; !(ratio >= 0) {
			p.errorf("--session-delay-ratio %v: must not be negative", ratio)
		}
	}
	for _, flag := range []string{"session-turns-mean", "session-turns-stddev", "session-turn-delay-mean", "session-turn-delay-stddev"} {
		if c.IsSet(flag) && !c.IsSet("num-sessions") {
			p.wrongf(flag, " belongs to --num-sessions; give that, or drop it")
		}
	}
	if c.IsSet("num-sessions") && c.IsSet("num-dataset-entries") {
		p.errorf("--num-sessions and --num-dataset-entries exclude each other: how many prompts there are follows from the turns; drop one")
	}
	if s.MadeSessions == 0 {
		return
	}
	if err := (synth.Normal{Mean: s.TurnsMean, Stddev: s.TurnsStddev}).Validate(); err != nil {
		p.errorf("--session-turns-mean: %w", err)
	}
	if err := s.ThinkTime().Validate(); err != nil {
		p.errorf("--session-turn-delay-mean: %w", err)
	}
}

// LevelSalt returns the text on which the beginnings of the prompts of a level depend:
// CacheSalt itself for the first level of the first run, else with the numbers of run and
// level; "" without a salt.
func (s *syntheticSettings) LevelSalt(set workload.Set) string {
	if s.CacheSalt == "" || set == (workload.Set{}) {
		return s.CacheSalt
	}
	return fmt.Sprintf("%s.%d.%d", s.CacheSalt, set.Run+1, set.Level+1)
}

// salt reads what prompts begin with. --cache-bust draws a new text.
func (p *parser) salt(s *Settings) {
	s.CacheSalt = p.c.String("cache-salt")
	if !p.c.Bool("cache-bust") {
		return
	}
	if s.CacheSalt != "" {
		p.errorf("--cache-bust and --cache-salt exclude each other; drop one")
	}
	s.CacheSalt = rand.Text()
}

func (s *syntheticSettings) ThinkTime() *synth.Delay {
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	return &synth.Delay{Mean: ms(s.DelayMeanMS), Stddev: ms(s.DelayStddevMS)}
}
