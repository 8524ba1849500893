package sim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Off as an address in a [Config] keeps that listener closed.
const Off = "off"

// Defaults of the fields of [Config].
const (
	DefaultAddr            = "127.0.0.1:0"
	DefaultModel           = "sim"
	DefaultTTFT            = 50 * time.Millisecond
	DefaultITL             = 10 * time.Millisecond
	DefaultOutputTokens    = 64
	DefaultAddSubDelay     = 5 * time.Millisecond
	DefaultContextTokens   = 131072
	DefaultMaxRequestBytes = 64 << 20
	DefaultLedgerLimit     = 10000
	DefaultLedgerBytes     = 256 << 20
)

// Config says how the simulated server behaves. The zero value works: it
// listens on ephemeral loopback ports and answers with 64 tokens, the first
// after 50 ms, the others 10 ms apart.
type Config struct {
	// OpenAIAddr, TritonHTTPAddr and TritonGRPCAddr are where to listen
	// ("host:port"). "" means DefaultAddr, a free loopback port; Off means not
	// at all.
	OpenAIAddr     string
	TritonHTTPAddr string
	TritonGRPCAddr string
	// TLS, if not nil, secures all listeners. It must hold a certificate.
	TLS *tls.Config
	// APIKey, if not empty, must come with every request to the OpenAI API but
	// /health and /ledger, as "Authorization: Bearer KEY".
	APIKey string

	// Models are the names that the OpenAI API serves; nil means DefaultModel.
	// An empty model name in a request means the first.
	Models []string
	// TritonModels are the models of both Triton APIs; nil means
	// DefaultTritonModels.
	TritonModels []TritonModel

	// TTFT is the time from the start of a request to its first token, without
	// prefill. The zero value means DefaultTTFT.
	TTFT plan.Delay
	// ITL is the time from a token to the next. The zero value means DefaultITL.
	ITL plan.Delay
	// OutputTokens is the length at which a model stops by itself: the answer
	// has so many tokens, or max_tokens if that is fewer, or min_tokens if that
	// is more. With ignore_eos it has max_tokens. The zero value means
	// DefaultOutputTokens.
	OutputTokens plan.Length
	// PrefillPerToken is added to TTFT for each input token.
	PrefillPerToken time.Duration
	// AddSubDelay is the time that a model of interface AddSub or Sequence works
	// on a request. The zero value means DefaultAddSubDelay.
	AddSubDelay plan.Delay
	// Seed is the seed of everything random. 0 is a seed like any other.
	Seed uint64
	// MaxConcurrency is the number of requests that are worked on at a time;
	// further ones wait in the order of their arrival. 0 means no limit.
	MaxConcurrency int
	// TokensPerEvent is how many tokens share an event. The first token always
	// has its own, as with vLLM's --stream-interval; an event is sent when its
	// last token is due. 0 means 1.
	TokensPerEvent int
	// Vocabulary is what the tokens are made of. The zero value means Plain.
	Vocabulary plan.Vocabulary
	// Final says how a Triton stream ends. The zero value means FinalEmpty.
	Final plan.Final
	// OmitUsage makes the OpenAI API behave like servers that know no token
	// counts: there is no usage in answers, asked for or not.
	OmitUsage bool
	// ContextTokens bounds input plus output tokens of a request; beyond that it
	// is refused. It also bounds the server's memory. 0 means
	// DefaultContextTokens; the most is 2^20.
	ContextTokens int
	// MaxRequestBytes bounds a request's size. 0 means DefaultMaxRequestBytes.
	MaxRequestBytes int64

	// KernelSends has the kernel note when each write over HTTP left, for
	// Write.KernelNS. Each costs some system calls and wakes the goroutine that
	// looks for the client's end. (Messages of gRPC streams always have that
	// time, and requests that of their arrival.)
	KernelSends bool

	// Faults are what goes wrong, and how often. The first rule that matches a
	// request's index counts; the request's own sim_fault precedes them all.
	Faults []plan.FaultRule

	// LedgerLimit is the number of requests that the ledger keeps. 0 means
	// DefaultLedgerLimit; a negative number means no ledger.
	LedgerLimit int
	// LedgerBytes bounds the memory of what the ledger keeps, about. Requests in
	// flight are not dropped, so these may exceed it. 0 means
	// DefaultLedgerBytes.
	LedgerBytes int64
	// LedgerKeepFirst keeps the first requests when a limit is reached; the
	// default is to keep the newest.
	LedgerKeepFirst bool
	// LedgerHashOnly keeps the length and SHA-256 of what was sent instead of
	// the bytes.
	LedgerHashOnly bool
	// LedgerTimesOnly keeps neither the bytes nor their hash, which costs least.
	LedgerTimesOnly bool
	// LedgerWriter, if not nil, gets the whole ledger as JSON lines when the
	// server closes.
	LedgerWriter io.Writer
}

// Validate reports all mistakes at once, nil if there are none.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.OpenAIAddr == Off && c.TritonHTTPAddr == Off && c.TritonGRPCAddr == Off {
		bad("all three addresses are %q; give at least one", Off)
	}
	if slices.Contains(c.Models, "") {
		bad("models: a name is empty")
	}
	names := map[string]bool{}
	for _, m := range c.TritonModels {
		switch {
		case m.Name == "":
			bad("triton models: a name is empty")
		case names[m.Name]:
			bad("triton models: %q is there twice", m.Name)
		}
		names[m.Name] = true
		if m.Interface < VLLM || m.Interface > Sequence {
			bad("triton model %q: unknown interface %d", m.Name, int(m.Interface))
		}
	}
	for _, d := range []struct {
		name string
		err  error
	}{
		{"ttft", c.TTFT.Validate()},
		{"itl", c.ITL.Validate()},
		{"output tokens", c.OutputTokens.Validate()},
		{"add_sub delay", c.AddSubDelay.Validate()},
	} {
		if d.err != nil {
			bad("%s: %w", d.name, d.err)
		}
	}
	if c.PrefillPerToken < 0 || c.PrefillPerToken > plan.MaxDelay {
		bad("prefill per token: %v is not between 0 and %v", c.PrefillPerToken, plan.MaxDelay)
	}
	if c.MaxConcurrency < 0 {
		bad("max concurrency: %d is negative; 0 means no limit", c.MaxConcurrency)
	}
	if c.TokensPerEvent < 0 {
		bad("tokens per event: %d is negative", c.TokensPerEvent)
	}
	if c.Vocabulary < 0 || c.Vocabulary > plan.Stamp {
		bad("unknown vocabulary %d", int(c.Vocabulary))
	}
	if c.Final < 0 || c.Final > plan.FinalAttached {
		bad("unknown final %d", int(c.Final))
	}
	if c.ContextTokens < 0 || c.ContextTokens > plan.MaxContextTokens {
		bad("context tokens: %d is not between 1 and %d", c.ContextTokens, plan.MaxContextTokens)
	}
	if c.MaxRequestBytes < 0 {
		bad("max request bytes: %d is negative", c.MaxRequestBytes)
	}
	if c.LedgerBytes < 0 {
		bad("ledger bytes: %d is negative", c.LedgerBytes)
	}
	for i, r := range c.Faults {
		if err := r.Validate(); err != nil {
			bad("fault rule %d: %w", i+1, err)
		}
	}
	return errors.Join(errs...)
}

// withDefaults returns a copy of c in which no field means "the default".
func (c Config) withDefaults() Config {
	for _, a := range []*string{&c.OpenAIAddr, &c.TritonHTTPAddr, &c.TritonGRPCAddr} {
		setDefault(a, DefaultAddr)
	}
	if c.Models == nil {
		c.Models = []string{DefaultModel}
	}
	if c.TritonModels == nil {
		c.TritonModels = DefaultTritonModels()
	}
	c.Models = slices.Clone(c.Models)
	c.TritonModels = slices.Clone(c.TritonModels)
	c.Faults = slices.Clone(c.Faults)
	setDefault(&c.TTFT, plan.ConstantDelay(DefaultTTFT))
	setDefault(&c.ITL, plan.ConstantDelay(DefaultITL))
	setDefault(&c.AddSubDelay, plan.ConstantDelay(DefaultAddSubDelay))
	setDefault(&c.OutputTokens, plan.ConstantLength(DefaultOutputTokens))
	setDefault(&c.TokensPerEvent, 1)
	setDefault(&c.Vocabulary, plan.Plain)
	setDefault(&c.Final, plan.FinalEmpty)
	setDefault(&c.ContextTokens, DefaultContextTokens)
	setDefault(&c.MaxRequestBytes, DefaultMaxRequestBytes)
	setDefault(&c.LedgerLimit, DefaultLedgerLimit)
	setDefault(&c.LedgerBytes, DefaultLedgerBytes)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
