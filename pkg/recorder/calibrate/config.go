package calibrate

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Defaults of Config.
const (
	DefaultStreams         = 64
	DefaultTokensPerSecond = 50
	DefaultDuration        = 5 * time.Second
)

// Bounds of a calibration, which keeps all times in the memory of both processes.
const (
	MaxStreams         = 8192
	maxTokensPerSecond = 10000
	maxDuration        = 10 * time.Minute
	// maxRoundRequests and maxRoundTokens bound one round.
	maxRoundRequests = 9000
	maxRoundTokens   = 2 << 20
)

// rounds is the number of rounds. Each round has a turn of both recordings, so that other
// activity of the machine does not affect only one of them.
const rounds = 2

// A Config is the load of a calibration. The zero value means the defaults.
type Config struct {
	// Streams is the number of concurrent answers; 0 means DefaultStreams.
	Streams int
	// TokensPerSecond is the rate of each stream; 0 means DefaultTokensPerSecond.
	TokensPerSecond float64
	// Duration is the total time of each of the two recordings; 0 means DefaultDuration.
	// Tokens, if not 0, replaces it with the total number of tokens of each stream.
	Duration time.Duration
	Tokens   int
}

// Validate reports all mistakes at once.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Streams < 0 || c.Streams > MaxStreams, "%d streams: from 1 to %d can be calibrated", c.Streams, MaxStreams)
	bad(!(c.TokensPerSecond >= 0 && c.TokensPerSecond <= maxTokensPerSecond), "%v tokens per second and stream: the rate must be above 0 and at most %d", c.TokensPerSecond, maxTokensPerSecond)
	bad(c.Duration < 0 || c.Duration > maxDuration, "%v: the duration must be above 0 and at most %v", c.Duration, maxDuration)
	bad(c.Tokens < 0, "%d tokens: there must be at least 1", c.Tokens)
	if errs == nil {
		if c = c.withDefaults(); c.tokens() > maxRoundTokens/c.Streams {
			bad(true, "%d streams with %d tokens each: a round of at most %d in all can be compared; calibrate shorter, or slower", c.Streams, c.tokens(), maxRoundTokens)
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	if c.Streams == 0 {
		c.Streams = DefaultStreams
	}
	if c.TokensPerSecond == 0 {
		c.TokensPerSecond = DefaultTokensPerSecond
	}
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	return c
}

// tokens returns the number of tokens of a stream in a round, at least 1.
func (c Config) tokens() int {
	n := c.Tokens
	if n == 0 {
		n = int(math.Ceil(c.Duration.Seconds() * c.TokensPerSecond))
	}
	return (max(n, 1)-1)/rounds + 1 // rounded up
}

// A Plan is the load of a round.
type Plan struct {
	Streams           int
	TokensPerSecond   float64
	RequestsPerStream int // one after the other
	TokensPerRequest  int
	Gap               time.Duration // between two tokens of a stream
}

// requestTokens is the approximate number of tokens of an answer. It gives many tokens to
// compare, and some starts.
const requestTokens = 50

// plan returns the plan of c, which must be valid.
func (c Config) plan() Plan {
	c = c.withDefaults()
	tokens := c.tokens()
	requests := max(min(tokens/requestTokens, maxRoundRequests/c.Streams), 1)
	return Plan{
		Streams: c.Streams, TokensPerSecond: c.TokensPerSecond,
		RequestsPerStream: requests, TokensPerRequest: (tokens + requests - 1) / requests,
		Gap: time.Duration(math.Round(float64(time.Second) / c.TokensPerSecond)),
	}
}
