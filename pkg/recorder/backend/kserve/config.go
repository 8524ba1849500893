package kserve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/grpcconn"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// A Protocol is the protocol of requests.
type Protocol uint8

// The protocols; the zero value is perf_analyzer's default.
const (
	HTTP Protocol = iota
	GRPC
)

// String returns perf_analyzer's name, "http" or "grpc".
func (p Protocol) String() string {
	if p == GRPC {
		return "grpc"
	}
	return "http"
}

// maxBatchSize bounds Config.BatchSize: a mistyped one must not use up the memory.
const maxBatchSize = 1 << 20

// Config configures a Backend. Model is required.
type Config struct {
	// URL is host:port, or host for the default port, optionally after http://, https://,
	// grpc:// or grpcs://; https and grpcs use TLS. Over HTTP a path may follow, which is
	// put before /v2. "" means localhost and the default port.
	URL      string
	Protocol Protocol
	Model    string
	Version  string // "" lets the server choose
	// Streaming sends requests on a bidirectional stream. It needs GRPC. Decoupled models
	// need it.
	Streaming bool
	// Parameters are sent with each request.
	Parameters []wire.Param
	// Bodies are parts of requests whose credentials, see [redact.Members], are hidden where a
	// server repeats them.
	Bodies []string
	// Shapes fixes the open dimensions of inputs, by name and without the batch
	// dimension. Shapes of an entry override it.
	Shapes map[string][]int64
	// OthersShapes says that Shapes may name inputs of other models.
	OthersShapes bool
	// Style is the form in which the model takes prompts; 0 derives it from the inputs.
	// Render configures how prompts become inputs; its Stream and Has are ignored.
	Style  render.Style
	Render render.Options
	// BatchSize is the number of batch elements in a request, at most 2^20; 0 means 1.
	BatchSize int
	// JSONInputs sends tensors as JSON instead of in binary after it, and JSONOutputs
	// asks for JSON tensors in the answers. They need HTTP and exclude SharedMemory.
	JSONInputs, JSONOutputs bool
	// Headers are HTTP headers or gRPC metadata of each request. Their values are hidden
	// in messages and in recorded answers. A value with {{request}} is sent with inference requests
	// only, and not with Streaming, where they share a call; RequestIDSeed is
	// [backend.RequestHeaders].Seed.
	Headers       http.Header
	RequestIDSeed uint64
	// TLS, if set, turns TLS on for every URL.
	TLS *tls.Config
	// Connections is the number of gRPC connections that the slots share in turn; 0
	// gives each slot its own. Calls on shared connections carry the number of their
	// slot as the metadata pa-slot, which identifies their messages on the wire.
	Connections int
	// Reuse says which connection carries a request. With Fresh, which excludes
	// Connections, it is closed after each answer; that does not show in the request.
	// Prewarm also opens the stream of a gRPC slot, and over HTTP asks for the
	// server's health on the connection. The first request on it is not marked as
	// reused, and has the times of opening it, although they lie before the load.
	Reuse backend.Reuse
	// PrewarmOptional leaves connections that Open cannot open to their first requests:
	// see [backend.Prewarming].
	PrewarmOptional bool
	// Compression compresses the sent messages: "gzip", "deflate", or "" for none. The
	// answers may use it, too. It needs GRPC.
	Compression string
	// SharedMemory transfers inputs and outputs through the system's shared memory, so
	// the server must be on this host. Decoupled models exclude it. Each output of a
	// request has OutputSharedBytes times the batch size; 0 means
	// wire/kserve.DefaultOutputSharedBytes.
	SharedMemory      bool
	OutputSharedBytes int64
	// Trace holds the server's trace settings during the load.
	Trace Trace
	// Proxy returns the proxy for an http or https URL, nil for none; a nil function means
	// no proxies. Over gRPC it must be an http proxy, which makes a tunnel (CONNECT).
	Proxy func(*url.URL) (*url.URL, error)
	// Sources are the local addresses of the connections; nil leaves them to the system.
	Sources *backend.Sources
	// UserStamps takes all times in user space, for comparisons.
	UserStamps bool
	// MaxAnswerMemory bounds the memory of an answer, in bytes: see
	// [backend.AnswerMemory]. 0 means [backend.DefaultAnswerMemory]. A larger answer
	// ends the request with a protocol error.
	MaxAnswerMemory int64
	// CheckTimeout bounds each query of Check; 0 means 10 s.
	CheckTimeout time.Duration
}

// Validate reports all mistakes that can be found without the server.
func (c *Config) Validate() error {
	var errs []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(c.Model == "", "no model; name it with -m")
	add(c.BatchSize < 0, "batch size %d: must be at least 1", c.BatchSize)
	add(c.BatchSize > maxBatchSize, "batch size %d: must be at most %d", c.BatchSize, maxBatchSize)
	add(c.MaxAnswerMemory < 0 || c.MaxAnswerMemory > math.MaxInt32, "answers of at most %d bytes: must be from 1 to %d", c.MaxAnswerMemory, math.MaxInt32)
	add(c.Connections < 0, "%d gRPC connections: must be at least 1", c.Connections)
	add(c.Streaming && c.Protocol != GRPC, "streaming needs gRPC; use -i grpc")
	add(c.OutputSharedBytes < 0 || c.OutputSharedBytes > math.MaxInt32, "%d bytes of shared memory for an output: must be from 1 to %d", c.OutputSharedBytes, math.MaxInt32)
	if c.Compression != "" {
		add(c.Protocol != GRPC, "compression needs gRPC; use -i grpc")
		errs = append(errs, grpcconn.CheckCompression(c.Compression))
	}
	json := c.JSONInputs || c.JSONOutputs
	add(json && c.Protocol != HTTP, "tensors in JSON need HTTP; drop -i grpc")
	add(json && c.Protocol == HTTP && c.SharedMemory, "tensors in JSON and in shared memory exclude each other; drop one")
	for name, shape := range c.Shapes {
		add(len(shape) > 0 && slices.Min(shape) < 1, "shape %s of %q: dimensions must be at least 1", wire.ShapeString(shape), name)
	}
	add(c.Connections > 0 && c.Reuse == backend.Fresh, "a fresh connection for each request cannot be shared; drop the number of gRPC connections")
	t, err := c.target()
	if err == nil {
		_, err = c.proxy(t)
	}
	return errors.Join(append(errs, err)...)
}

// target holds the parts of the URL.
type target struct {
	host string // host:port
	path string // before /v2, without a slash at its end
	tls  bool
}

// target parses the URL. Its errors show at most the host: user information, path and
// query may be secrets, even when they are misplaced.
func (c *Config) target() (target, error) {
	s, port := c.URL, "8000"
	if c.Protocol == GRPC {
		port = "8001"
	}
	if s == "" {
		s = "localhost"
	}
	t := target{tls: c.TLS != nil}
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		switch scheme {
		case "http", "grpc":
		case "https", "grpcs":
			t.tls = true
		default:
			return t, errors.New("the URL's scheme is not http, https, grpc or grpcs")
		}
		s = rest
	}
	u, err := url.Parse("//" + s)
	switch {
	case strings.Contains(s, "@"): // also after a slash, which a password may contain
		return t, errors.New("a name and password cannot stand in the URL; write host:port and give -H 'Authorization: …'")
	case err != nil:
		return t, errors.New("the URL cannot be read; write host:port")
	case u.Hostname() == "":
		return t, errors.New("the URL has no host; write host:port")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return t, fmt.Errorf("URL %q: it cannot have a query; write host:port", u.Host)
	}
	t.path = strings.TrimRight(u.EscapedPath(), "/")
	if t.path != "" && c.Protocol == GRPC {
		return t, fmt.Errorf("URL %q: gRPC has no path; write host:port", u.Host)
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return t, fmt.Errorf("URL %q: %s is not a port", u.Host, p)
		}
		port = p
	}
	t.host = net.JoinHostPort(u.Hostname(), port)
	return t, nil
}
