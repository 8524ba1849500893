package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/tlsfiles"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wirekserve "github.com/pa-tools/pa/pkg/wire/kserve"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// targetFlags returns the flags for the server, the model and the protocol.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Category: catTarget, Usage: "model `NAME`; OpenAI servers that list one model need none; several, repeated or as a list a,b, get requests by --model-selection-strategy"},
		&cli.StringFlag{Name: "model-selection-strategy", Category: catTarget, Usage: "`HOW` to choose among several models for an entry that names none: round_robin or random", DefaultText: workload.RoundRobinModels},
		&cli.StringFlag{Name: "model-version", Aliases: []string{"x"}, Category: catTarget, Usage: "Triton model `VERSION`; the latest if not given"},
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Category: catTarget, Usage: "server `URL`: host:port, http(s)://…, or sim:// for a simulated server in this process; several, repeated or as a list a:1,b:1, get requests in turn; LABEL=URL, given for two or more servers, makes runs against each, to compare them (default: localhost:8000, with -i grpc localhost:8001)"},
		&cli.StringFlag{Name: "service-kind", Category: catTarget, Usage: "`KIND` of server: triton or openai (default: triton)"},
		&cli.StringFlag{Name: "endpoint", Category: catTarget, Usage: "OpenAI `PATH` (default: v1/chat/completions)"},
		&cli.StringFlag{Name: "protocol", Aliases: []string{"i"}, Category: catTarget, Usage: "Triton `PROTOCOL`: http or grpc (default: http)"},
		&cli.BoolFlag{Name: "streaming", Category: catTarget, Usage: "stream the answers: a bidirectional gRPC stream, or \"stream\": true in OpenAI requests"},
		&cli.BoolFlag{Name: "async", Aliases: []string{"a"}, Category: catTarget, Usage: "a level is stable as soon as its throughput is; pa-record sends asynchronously in any case"},
		&cli.BoolFlag{Name: "sync", Category: catTarget, Usage: "for stateful models, require stable latency too"},
		&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Category: catTarget, Usage: "`HEADER` 'Name: value' of every request, or gRPC metadata (repeatable)"},
		readsFile(&cli.StringFlag{Name: "api-key-file", Category: catTarget, Usage: "read the OpenAI API key from `FILE` (else from $OPENAI_API_KEY)"}),
		&cli.StringFlag{Name: "extra-body", Category: catTarget, Usage: "merge the members of this `JSON` object into every OpenAI request"},
		&cli.StringSliceFlag{Name: "request-parameter", Category: catTarget, Usage: "Triton request parameter `NAME:VALUE:TYPE`, type bool, int or string; gRPC (repeatable)"},
		&cli.Int64Flag{Name: "max-answer-memory", Category: catTarget, Usage: "fail a request whose answer takes more than `BYTES` of memory: its own bytes, and 256 for each event", Value: backend.DefaultAnswerMemory},
		&cli.DurationFlag{Name: "request-timeout", Category: catTarget, Usage: "give a request up after `DURATION`; negative: never", Value: 10 * time.Minute},
		&cli.DurationFlag{Name: "wait-ready", Category: catTarget, Usage: "wait up to `DURATION` for the server to become ready", DefaultText: "do not wait"},
	}
}

// A header is one -H.
type header struct{ Name, Value string }

// target reads which server and models to ask, how, and with which headers.
func (p *parser) target(s *Settings, getenv func(string) string) {
	s.ModelVersion, s.RequestTimeout, s.WaitReady = p.c.String("model-version"), p.c.Duration("request-timeout"), p.c.Duration("wait-ready")
	s.RequestTimeoutMS = Milliseconds(s.RequestTimeout)
	p.models(s)
	p.service(s)
	p.headers(s, getenv)
	p.parameters(s)
	p.answerMemory(s)
}

// service reads the kind, the protocol and the address of the server.
func (p *parser) service(s *Settings) {
	c := p.c
	s.ServiceKind, s.Protocol, s.Endpoint = c.String("service-kind"), c.String("protocol"), c.String("endpoint")
	s.Streaming = c.Bool("streaming")
	s.RawURLs, s.Servers = p.serverURLs(c.StringSlice("url"))
	simulated := len(s.RawURLs) > 0 && s.Simulated()
	if s.ServiceKind == "" {
		s.ServiceKind = Triton
		if simulated && s.Model == "" && s.Protocol == "" {
			s.ServiceKind = OpenAI // the quick start
			if _, numbers := wireopenai.Numbers(s.Endpoint); !numbers && !c.IsSet("streaming") {
				s.Streaming = true
			}
		}
	}
	if s.Protocol == "" {
		s.Protocol = HTTP
	}
	s.Protocol = strings.ToLower(s.Protocol)
	if s.Protocol != HTTP && s.Protocol != GRPC {
		p.errorf("-i %s: the protocol is http or grpc", s.Protocol)
	}
	if c.Bool("async") && c.Bool("sync") {
		p.errorf("--async and --sync exclude each other; drop one")
	}
	if s.Streaming && c.Bool("sync") {
		p.errorf("--streaming needs asynchronous calls; drop --sync")
	}
	s.Sync = c.Bool("sync")
	s.Async = c.Bool("async") || s.Streaming || s.ServiceKind == OpenAI
	switch s.ServiceKind {
	case Triton:
		p.triton(s)
	case OpenAI:
		p.openAI(s)
	default:
		if why, ok := NotSupportedKinds[s.ServiceKind]; ok {
			p.errorf("--service-kind %s: %s", s.ServiceKind, why)
			break
		}
		p.errorf("--service-kind %s: the kind is triton or openai", s.ServiceKind)
	}
	p.urls(s)
}

func (p *parser) triton(s *Settings) {
	if s.Model == "" {
		p.errorf("no model; give its name with -m (an OpenAI server: add --service-kind openai)")
	}
	if s.Endpoint != "" {
		// perf_analyzer passes over it, and people have it on their command lines.
		s.Note("--endpoint has no effect with --service-kind triton")
		s.Endpoint = ""
	}
	if s.Streaming && s.Protocol != GRPC {
		p.errorf("--streaming needs -i grpc; for an OpenAI server add --service-kind openai")
	}
	for _, f := range []string{"extra-body", "api-key-file"} {
		if p.c.String(f) != "" {
			p.errorf("--%s belongs to --service-kind openai", f)
		}
	}
}

func (p *parser) openAI(s *Settings) {
	if s.Protocol == GRPC {
		p.errorf("OpenAI servers speak HTTP; drop -i grpc")
	}
	s.rawEndpoint = strings.Trim(s.Endpoint, "/")
	if s.rawEndpoint == "" {
		s.rawEndpoint = ChatEndpoint
	}
	s.Endpoint = redact.Endpoint(s.rawEndpoint)
	p.modelsFit(s)
	p.endpointKnown(s)
	if what, ok := wireopenai.Numbers(s.rawEndpoint); ok && s.Streaming {
		p.errorf("--streaming does not fit --endpoint %s: %s are not streamed", s.Endpoint, what)
	}
	if body := p.c.String("extra-body"); body != "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			p.errorf("--extra-body: not a JSON object (%v)", err)
			return
		}
		s.ExtraBody, s.ShownBody = json.RawMessage(body), json.RawMessage(redact.Members(body))
		s.Bodies = append(s.Bodies, body)
	}
}

// endpointKnown refuses an endpoint whose requests and answers are not known: every request would fail, or
// succeed with an answer that nothing can be measured in. A template says what to send to any path.
func (p *parser) endpointKnown(s *Settings) {
	switch api, ok := render.APIOf(s.EndpointPath()); {
	case !ok && p.c.String("request-template") == "":
		meant := ""
		if like := cmdline.Nearest(s.EndpointPath(), usualEndpoints); like != "" {
			meant = "did you mean " + like + "? "
		}
		p.errorf("--endpoint %s: %sno API is known that has this path; a path must end with %s; --request-template sends to any path", s.Endpoint, meant, orList(render.Endpoints()))
	case ok && api != render.Chat && p.c.IsSet("session-concurrency"):
		p.errorf("--session-concurrency holds conversations with a chat endpoint, and --endpoint %s is not one; use --endpoint %s", s.Endpoint, ChatEndpoint)
	}
}

// usualEndpoints are the usual paths of the APIs that are known.
var usualEndpoints = []string{"v1/chat/completions", "v1/completions", "v1/embeddings", "v1/responses", "v1/ranking", "v1/rerank", "v1/infer", "generate", "generate_stream"}

// orList returns "a, b or c"; "a" for one name.
func orList(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// headers reads -H and the API key. getenv is os.Getenv but for tests.
func (p *parser) headers(s *Settings, getenv func(string) string) {
	authorized := false
	for _, h := range p.c.StringSlice("header") {
		name, value, ok := strings.Cut(h, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			p.errorf("-H: expected 'Name: value'") // the text may be a secret
			continue
		}
		s.Headers = append(s.Headers, header{name, strings.TrimSpace(value)})
		s.HeaderNames = append(s.HeaderNames, name)
		authorized = authorized || strings.EqualFold(name, "authorization")
	}
	if s.ServiceKind != OpenAI {
		return
	}
	switch path := p.c.String("api-key-file"); {
	case path != "":
		key, err := regular.ReadFile(p.c.Context, path, tlsfiles.MaxFileBytes)
		if err != nil {
			p.errorf("--api-key-file: %v", err)
		}
		s.apiKey = strings.TrimSpace(string(key))
		if err == nil && s.apiKey == "" {
			p.errorf("--api-key-file: %s is empty", path)
		}
	case !authorized:
		s.apiKey = getenv("OPENAI_API_KEY")
	}
	if s.apiKey != "" {
		if authorized {
			p.errorf("--api-key-file and -H 'Authorization: …' exclude each other; drop one")
		}
		s.Headers = append(s.Headers, header{"Authorization", "Bearer " + s.apiKey})
		s.HeaderNames = append(s.HeaderNames, "Authorization")
	}
}

func (p *parser) parameters(s *Settings) {
	for _, text := range p.c.StringSlice("request-parameter") {
		s.Parameters = append(s.Parameters, redact.Parameter(text))
		q, err := wirekserve.ParseParam(text)
		switch shown := redact.Parameter(text); {
		case err != nil && shown != text: // the error has the credential
			p.errorf("--request-parameter %s: expected name:value:type, type bool, int or string", shown)
		case err != nil:
			p.errs = append(p.errs, fmt.Errorf("--request-parameter: %w", err))
		}
		s.RequestParameters = append(s.RequestParameters, q)
		s.Bodies = append(s.Bodies, q.Name+":"+fmt.Sprint(q.Value))
	}
	if len(s.Parameters) > 0 && s.Protocol != GRPC {
		p.errorf("--request-parameter needs -i grpc")
	}
}

// noteCredentials notes credentials that payloads hold.
func (s *Settings) noteCredentials() {
	var names []string
	for _, part := range s.Bodies {
		names = append(names, redact.MemberNames(part)...)
	}
	if text := CredentialsNote(names); text != "" {
		s.Note("%s", text)
	}
}

// CredentialsNote returns the note that payloads hold the members with these names; "" for none.
func CredentialsNote(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return ""
	}
	what := "the member "
	if len(names) > 1 {
		what = "the members "
	}
	return "the export's payloads hold " + what + sanitize.Clip(strings.Join(names, ", "), maxNamesBytes) + " as it was sent; if the server takes the key in a header, give it with -H or --api-key-file, whose values are written to no file"
}

// maxNamesBytes bounds the names in CredentialsNote.
const maxNamesBytes = 200

// answerMemory reads --max-answer-memory.
func (p *parser) answerMemory(s *Settings) {
	const flag, most = "max-answer-memory", math.MaxInt32 // gRPC's largest message
	if !p.c.IsSet(flag) {
		return
	}
	s.MaxAnswerMemory = p.c.Int64(flag)
	switch {
	case s.MaxAnswerMemory < 1:
		p.errorf("--%s %d: must be at least 1", flag, s.MaxAnswerMemory)
	case s.MaxAnswerMemory > most && s.ServiceKind == Triton:
		p.errorf("--%s %d: with --service-kind triton it must be at most %d", flag, s.MaxAnswerMemory, most)
	}
}

// EndpointPath returns the endpoint without its query and outer slashes.
func (s *Settings) EndpointPath() string {
	path, _, _ := strings.Cut(s.rawEndpoint, "?")
	return strings.Trim(path, "/")
}
