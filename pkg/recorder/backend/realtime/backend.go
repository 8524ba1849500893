package realtime

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	wire "github.com/pa-tools/pa/pkg/wire/openai"
)

// A Dialect says which messages a server takes. Servers differ in the names and the order of messages and in the sample rate.
type Dialect uint8

// The dialects; their names are the values of --realtime-dialect.
const (
	// VLLM is vLLM's: samples at 16 kHz; the transcription begins with a commit before the audio, and a final commit
	// ends it.
	VLLM Dialect = iota
	// OpenAI is OpenAI's for transcription: samples at 24 kHz, and a commit after the audio. The server does not
	// look for turns by itself.
	OpenAI
)

var dialectNames = [...]string{"vllm", "openai"}

// String returns "vllm" or "openai".
func (d Dialect) String() string {
	if int(d) < len(dialectNames) {
		return dialectNames[d]
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// ParseDialect is the inverse of String.
func ParseDialect(name string) (Dialect, error) {
	if i := slices.Index(dialectNames[:], name); i >= 0 {
		return Dialect(i), nil
	}
	return 0, fmt.Errorf("%.40q is not a dialect; expected vllm or openai", name)
}

// rate returns the samples per second.
func (d Dialect) rate() int {
	if d == OpenAI {
		return 24000
	}
	return 16000
}

// Bounds of the settings.
const (
	minChunk, maxChunk = time.Millisecond, time.Minute
	minSpeed, maxSpeed = 0.01, 1000
)

// Settings say how audio is sent.
type Settings struct {
	Dialect Dialect
	// Chunk is the length of the audio in a message; 0 means 100 ms.
	Chunk time.Duration
	// Speed is the pace at which audio is sent, where 1 is the pace of speech; 0 means 1.
	Speed float64
}

// Validate returns an error that names all mistakes.
func (s Settings) Validate() error {
	var errs []error
	if s.Chunk != 0 && (s.Chunk < minChunk || s.Chunk > maxChunk) {
		errs = append(errs, fmt.Errorf("chunk %v: must be from %v to %v", s.Chunk, minChunk, maxChunk))
	}
	if s.Speed != 0 && !(s.Speed >= minSpeed && s.Speed <= maxSpeed) {
		errs = append(errs, fmt.Errorf("speed %v: must be from %v to %v", s.Speed, minSpeed, maxSpeed))
	}
	return errors.Join(errs...)
}

// Config configures a Backend.
type Config struct {
	// OpenAI says where the server is and how to connect. Its ExtraBody is added to the message session.update; Endpoint
	// must be one that render.Realtime belongs to.
	OpenAI openai.Config
	Settings
}

// A Backend sends audio to one server. Use New.
type Backend struct {
	cfg  Config
	http *openai.Backend // connects, checks the server and decodes messages
}

var (
	_ backend.Backend = (*Backend)(nil)
	_ backend.Warner  = (*Backend)(nil)
)

// New returns a backend. It opens no connection. The error names all mistakes in cfg.
func New(cfg Config) (*Backend, error) {
	cfg.Chunk, cfg.Speed = cmp.Or(cfg.Chunk, 100*time.Millisecond), cmp.Or(cfg.Speed, 1)
	if cfg.OpenAI.MaxAnswerMemory <= 0 {
		cfg.OpenAI.MaxAnswerMemory = backend.DefaultAnswerMemory
	}
	var http2 error
	if cfg.OpenAI.HTTP2 {
		http2 = errors.New("v1/realtime is WebSocket over HTTP/1.1; drop HTTP/2")
	}
	b, err := openai.New(cfg.OpenAI)
	if err := errors.Join(cfg.Validate(), http2, err); err != nil {
		return nil, err
	}
	return &Backend{cfg: cfg, http: b}, nil
}

// Check implements [backend.Backend] as [openai.Backend.Check] does, by asking for the models.
func (b *Backend) Check(ctx context.Context) error { return b.http.Check(ctx) }

// CheckWarnings implements [backend.Warner].
func (b *Backend) CheckWarnings() []backend.Warning { return b.http.CheckWarnings() }

// Model returns the model of entries that name none.
func (b *Backend) Model() string { return b.http.Model() }

// Decode implements [backend.Backend] as [openai.Backend.Decode] does.
func (b *Backend) Decode(x *backend.Exchange) error { return b.http.Decode(x) }

// Close releases the resources of the backend.
func (b *Backend) Close() error { return b.http.Close() }

// Open returns a sender, which connects for each request.
func (b *Backend) Open(_ context.Context, _ int, clock *rxclock.Clock) (backend.Sender, error) {
	return &sender{b: b, clock: clock}, nil
}

// A payload is an utterance.
type payload struct {
	model  string
	update []byte // the message session.update
	pcm    []byte // samples of 16 bits
	chunk  int    // bytes of samples in a message
	inputs export.Fields
}

// Inputs implements [backend.Payload].
func (p *payload) Inputs() export.Fields { return p.inputs }

// Model implements [backend.Modeler].
func (p *payload) Model() string { return p.model }

// Streamed implements [backend.Streamer].
func (p *payload) Streamed() bool { return true }

// Prepare encodes an entry with one audio clip. The export shows the message session.update as payload, and a description
// of the audio.
func (b *Backend) Prepare(e *workload.Entry) (backend.Payload, error) {
	p, err := b.prepare(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Place(), err)
	}
	return p, nil
}

func (b *Backend) prepare(e *workload.Entry) (*payload, error) {
	if e.Prompt == nil || len(e.Prompt.Media) != 1 || e.Prompt.Media[0].Kind != workload.Audio {
		return nil, errors.New("v1/realtime sends one audio clip in a request; give --input-data rows with \"audio\", or --audio-length-mean")
	}
	p := &payload{model: cmp.Or(e.Model, b.Model())}
	if p.model == "" {
		return nil, errors.New("v1/realtime needs the name of the model; give it with -m")
	}
	rate := b.cfg.Dialect.rate()
	var err error
	if p.pcm, err = samplesOf(e.Prompt.Media[0], rate); err != nil {
		return nil, err
	}
	p.chunk = 2 * max(1, int(math.Round(float64(rate)*b.cfg.Chunk.Seconds())))
	if p.update, err = wire.MergeRequest(b.cfg.Dialect.update(p.model), b.cfg.OpenAI.ExtraBody); err != nil {
		return nil, fmt.Errorf("session.update: %w", err)
	}
	sum := sha256.Sum256(p.pcm)
	audio, err := json.Marshal(audioInput{"pcm16", rate, float64(len(p.pcm)) / float64(2*rate), len(p.pcm), hex.EncodeToString(sum[:]), b.cfg.Chunk.Nanoseconds(), b.cfg.Speed})
	p.inputs = export.Fields{{Name: "payload", Value: export.Text(string(p.update))}, {Name: "audio", Value: export.Text(string(audio))}}
	return p, err
}

// An audioInput is the input "audio" of the export.
type audioInput struct {
	Format     string  `json:"format"`
	SampleRate int     `json:"sample_rate"`
	Seconds    float64 `json:"seconds"`
	Bytes      int     `json:"bytes"`
	SHA256     string  `json:"sha256"`
	ChunkNS    int64   `json:"chunk_ns"`
	Speed      float64 `json:"speed"`
}

// update returns the message that configures the session.
func (d Dialect) update(model string) []byte {
	name, err := json.Marshal(model)
	if err != nil {
		panic(err) // a string
	}
	if d == OpenAI {
		return fmt.Appendf(nil, `{"type":%q,"session":{"type":"transcription","audio":{"input":{"format":{"type":"audio/pcm","rate":%d},"transcription":{"model":%s},"turn_detection":null}}}}`, wire.RealtimeUpdate, d.rate(), name)
	}
	return fmt.Appendf(nil, `{"type":%q,"model":%s}`, wire.RealtimeUpdate, name)
}

// before returns the message between session.update and the audio; nil for none.
func (d Dialect) before() []byte {
	if d == VLLM {
		return []byte(`{"type":"` + wire.RealtimeCommit + `","final":false}`)
	}
	return nil
}

// commit returns the message after the audio.
func (d Dialect) commit() []byte {
	if d == VLLM {
		return []byte(`{"type":"` + wire.RealtimeCommit + `","final":true}`)
	}
	return []byte(`{"type":"` + wire.RealtimeCommit + `"}`)
}
