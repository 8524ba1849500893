package sim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
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
	DefaultMaxNewcomers    = 16384
	DefaultHeaderTimeout   = time.Minute
	DefaultLedgerLimit     = 10000
	DefaultLedgerBytes     = 256 << 20
)

// Config describes the behavior of a server. The zero value listens on free loopback ports
// and answers with 64 tokens: the first after 50 ms, the others 10 ms apart.
type Config struct {
	// OpenAIAddr, TritonHTTPAddr and TritonGRPCAddr are the addresses to listen on
	// ("host:port"). "" means DefaultAddr, a free loopback port; Off disables the API.
	OpenAIAddr     string
	TritonHTTPAddr string
	TritonGRPCAddr string
	// TLS, if not nil, secures all listeners. It must hold a certificate.
	TLS *tls.Config
	// APIKey, if not empty, is required by the OpenAI API, except by /health, /ledger
	// and /metrics, as "Authorization: Bearer KEY".
	APIKey string

	// Models are the model names of the OpenAI API; nil means DefaultModel. An empty
	// name in a request means the first one.
	Models []string
	// TritonModels are the models of both Triton APIs; nil means
	// DefaultTritonModels.
	TritonModels []TritonModel

	// TTFT is the time from the start of a request to its first token, without
	// prefill. The zero value means DefaultTTFT.
	TTFT plan.Delay
	// ITL is the time from a token to the next. The zero value means DefaultITL.
	ITL plan.Delay
	// OutputTokens is the length at which a model stops by itself. max_tokens can
	// shorten an answer, min_tokens can lengthen it, and with ignore_eos it has
	// max_tokens. The zero value means DefaultOutputTokens.
	OutputTokens plan.Length
	// PrefillPerToken is added to TTFT for each input token that is not in the prefix cache.
	PrefillPerToken time.Duration
	// Encode appends the tokens of a text, for the input tokens of the OpenAI API and its
	// prefix cache. It may be called concurrently. nil counts words.
	Encode func(dst []uint32, text string) []uint32
	// PrefixCache, if not nil, gives the OpenAI API a prefix cache, and its answers state
	// the tokens that were in it.
	PrefixCache *PrefixCache
	// AddSubDelay is the processing time of models with interface AddSub or Sequence.
	// The zero value means DefaultAddSubDelay.
	AddSubDelay plan.Delay
	// Seed is the seed of all random values; 0 is a valid seed.
	Seed uint64
	// MaxConcurrency bounds the requests in progress. Further requests wait in the
	// order of arrival. 0 means no limit.
	MaxConcurrency int
	// TokensPerEvent is the number of tokens in an event, which is due with its last
	// token. The first token always has its own event, as with vLLM's
	// --stream-interval. 0 means 1.
	TokensPerEvent int
	// Vocabulary selects the tokens. The zero value means plan.Plain.
	Vocabulary plan.Vocabulary
	// Final selects the end of a Triton stream. The zero value means plan.FinalEmpty.
	Final plan.Final
	// OmitUsage makes the OpenAI API omit usage, like servers without token counts.
	OmitUsage bool
	// ServerDetails makes chats and completions state the times and the cache of each request, as the server of this name
	// does: ServerDetailsVLLM, ServerDetailsSGLang or ServerDetailsLlamaCPP. They stand where usage stands. "" states none.
	ServerDetails string
	// ContextTokens bounds the input and output tokens of a request; larger requests
	// are refused. It also bounds the memory of the server. 0 means
	// DefaultContextTokens; the maximum is plan.MaxContextTokens.
	ContextTokens int
	// MaxRequestBytes bounds a request's size. 0 means DefaultMaxRequestBytes.
	MaxRequestBytes int64

	// MaxNewcomers bounds the connections that have not sent a request yet. For a new one
	// beyond it the server closes the oldest. Other connections, idle ones included, have
	// no limit. 0 means DefaultMaxNewcomers.
	MaxNewcomers int
	// HeaderTimeout bounds how long a client may take for the header of a request: of the
	// first one from the start of its connection, of the others from their first byte. For
	// gRPC it bounds the handshake of a connection. 0 means DefaultHeaderTimeout.
	HeaderTimeout time.Duration

	// KernelSends makes the kernel record when each HTTP write left, for
	// Write.KernelNS. This costs a few system calls per write. Messages of
	// gRPC streams, and arrivals of requests, always have these times.
	KernelSends bool

	// Faults selects requests that fail. The first rule that matches the index of a
	// request counts. sim_fault in a request overrides all rules.
	Faults []plan.FaultRule

	// LedgerLimit bounds the requests in the ledger. 0 means
	// DefaultLedgerLimit; a negative number disables the ledger.
	LedgerLimit int
	// LedgerBytes is the approximate memory of the ledger. Requests in flight are
	// never dropped and may exceed it. 0 means DefaultLedgerBytes.
	LedgerBytes int64
	// LedgerKeepFirst keeps the first requests at a limit, instead of the newest.
	LedgerKeepFirst bool
	// LedgerHashOnly keeps the length and the SHA-256 of sent bytes instead of the
	// bytes.
	LedgerHashOnly bool
	// LedgerTimesOnly keeps neither bytes nor hashes.
	LedgerTimesOnly bool
	// LedgerWriter, if not nil, receives the ledger as JSON lines when the server
	// closes.
	LedgerWriter io.Writer
}

// An api is one of the APIs of a server.
type api struct {
	name  apiName
	addr  *string // to listen on
	serve func(*Server, net.Listener)
}

// An apiName names an API within this package.
type apiName string

const (
	openAIAPI     apiName = "openai"
	tritonHTTPAPI apiName = "triton-http"
	tritonGRPCAPI apiName = "triton-grpc"
)

// apis lists the APIs, with their addresses in c.
func (c *Config) apis() []api {
	return []api{
		{openAIAPI, &c.OpenAIAddr, func(s *Server, l net.Listener) { s.serveHTTP(l, s.openAIHandler(), true) }},
		{tritonHTTPAPI, &c.TritonHTTPAddr, func(s *Server, l net.Listener) { s.serveHTTP(l, s.tritonHandler(), false) }},
		{tritonGRPCAPI, &c.TritonGRPCAddr, (*Server).serveGRPC},
	}
}

// Validate reports all mistakes at once, nil if there are none.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !slices.ContainsFunc(c.apis(), func(a api) bool { return *a.addr != Off }) {
		bad("all addresses are %q; give at least one", Off)
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
	if c.PrefixCache != nil {
		if err := c.PrefixCache.validate(); err != nil {
			errs = append(errs, err)
		}
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
	if c.MaxNewcomers < 0 {
		bad("max newcomers: %d is negative", c.MaxNewcomers)
	}
	if c.HeaderTimeout < 0 {
		bad("header timeout: %v is negative", c.HeaderTimeout)
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
	for _, a := range c.apis() {
		setDefault(a.addr, DefaultAddr)
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
	setDefault(&c.MaxNewcomers, DefaultMaxNewcomers)
	setDefault(&c.HeaderTimeout, DefaultHeaderTimeout)
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
