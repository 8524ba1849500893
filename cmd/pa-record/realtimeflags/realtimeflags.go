package realtimeflags

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/backend/realtime"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// Settings are the flags, checked. The zero value is for another endpoint.
type Settings struct {
	Dialect string  `json:"dialect"`
	ChunkNS int64   `json:"chunk_ns"`
	Speed   float64 `json:"speed"`
}

// The names of the flags.
const (
	dialectFlag = "realtime-dialect"
	chunkFlag   = "realtime-chunk"
	speedFlag   = "realtime-speed"
)

// Flags returns the flags, for a category of the help.
func Flags(category string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: dialectFlag, Category: category, Usage: "spell the messages of v1/realtime as `SERVER` does: vllm or openai", DefaultText: realtime.VLLM.String()},
		&cli.DurationFlag{Name: chunkFlag, Category: category, Usage: "send audio to v1/realtime in pieces of `DURATION`", DefaultText: "100ms"},
		&cli.Float64Flag{Name: speedFlag, Category: category, Usage: "send audio `X` times as fast as it is spoken", DefaultText: "1"},
	}
}

// Read reads the flags for an endpoint, a path. It sets streaming for v1/realtime, whose answers are always streamed.
func (s *Settings) Read(c *cli.Context, endpoint string, streaming *bool) error {
	if api, _ := render.APIOf(endpoint); api != render.Realtime {
		var errs []error
		for _, f := range []string{dialectFlag, chunkFlag, speedFlag} {
			if c.IsSet(f) {
				errs = append(errs, fmt.Errorf("--%s belongs to --endpoint v1/realtime; give that, or drop it", f))
			}
		}
		return errors.Join(errs...)
	}
	var errs []error
	if c.IsSet("streaming") && !*streaming {
		errs = append(errs, errors.New("--streaming=false: the answers of v1/realtime are always streamed; drop it"))
	}
	if c.IsSet("request-template") {
		errs = append(errs, errors.New("--request-template: a request to v1/realtime is a session with audio, not a body; drop it"))
	}
	*streaming = true
	*s = Settings{Dialect: realtime.VLLM.String(), ChunkNS: (100 * time.Millisecond).Nanoseconds(), Speed: 1}
	if c.IsSet(dialectFlag) {
		s.Dialect = c.String(dialectFlag)
	}
	if c.IsSet(chunkFlag) {
		s.ChunkNS = c.Duration(chunkFlag).Nanoseconds()
	}
	if c.IsSet(speedFlag) {
		s.Speed = c.Float64(speedFlag)
	}
	if _, err := realtime.ParseDialect(s.Dialect); err != nil {
		errs = append(errs, fmt.Errorf("--%s %w", dialectFlag, err))
	}
	switch {
	case s.ChunkNS == 0 || s.Speed == 0:
		errs = append(errs, fmt.Errorf("--%s and --%s must be more than 0", chunkFlag, speedFlag))
	default:
		if err := s.backend().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("--%s, --%s: %w", chunkFlag, speedFlag, err))
		}
	}
	if c.IsSet("connection-reuse") {
		errs = append(errs, errors.New("--connection-reuse: each request to v1/realtime has a session and a connection of its own; drop it"))
	}
	return errors.Join(errs...)
}

// backend returns the settings of the backend.
func (s *Settings) backend() realtime.Settings {
	d, _ := realtime.ParseDialect(s.Dialect) // Read checked it
	return realtime.Settings{Dialect: d, Chunk: time.Duration(s.ChunkNS), Speed: s.Speed}
}

// New returns the backend for cfg: of v1/realtime if s has its settings, else for requests over HTTP.
func (s *Settings) New(cfg openai.Config) (backend.Backend, error) {
	if *s == (Settings{}) {
		return openai.New(cfg)
	}
	return realtime.New(realtime.Config{OpenAI: cfg, Settings: s.backend()})
}
