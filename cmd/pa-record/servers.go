package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/tlsfiles"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wirekserve "github.com/pa-tools/pa/pkg/wire/kserve"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// targetFlags returns the flags for the server, the model and the protocol.
func (s *settings) targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Category: catTarget, Usage: "model `NAME`; not needed if an OpenAI server lists one model; several, repeated or as a list a,b, share the requests by --model-selection-strategy"},
		&cli.StringFlag{Name: "model-selection-strategy", Category: catTarget, Usage: "`HOW` to choose one of several models for an entry that names none: round_robin or random", DefaultText: workload.RoundRobinModels},
		&cli.StringFlag{Name: "model-version", Aliases: []string{"x"}, Category: catTarget, Usage: "Triton model `VERSION`; the latest if not given", Destination: &s.ModelVersion},
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Category: catTarget, Usage: "server `URL`: host:port, http(s)://…, or sim:// for a simulated server in this process; several, repeated or as a list a:1,b:1, get requests in turn; LABEL=URL, given for two or more servers, makes runs against each, to compare them (default: localhost:8000, with -i grpc localhost:8001)"},
		&cli.StringFlag{Name: "service-kind", Category: catTarget, Usage: "`KIND` of server: " + cmdline.OneOf(kindNames()) + " (default: " + kindTriton + ")", Destination: &s.ServiceKind},
		&cli.StringFlag{Name: "endpoint", Category: catTarget, Usage: "OpenAI `PATH` (default: v1/chat/completions)", Destination: &s.Endpoint},
		&cli.StringFlag{Name: "protocol", Aliases: []string{"i"}, Category: catTarget, Usage: "Triton `PROTOCOL`: http or grpc (default: http)", Destination: &s.Protocol},
		&cli.BoolFlag{Name: "streaming", Category: catTarget, Usage: "stream the answers: a bidirectional gRPC stream, or \"stream\": true in OpenAI requests", Destination: &s.Streaming},
		&cli.BoolFlag{Name: "async", Aliases: []string{"a"}, Category: catTarget, Usage: "a level counts as stable as soon as its throughput is; pa-record always sends asynchronously", Destination: &s.Async},
		&cli.BoolFlag{Name: "sync", Category: catTarget, Usage: "for stateful models, require stable latency too", Destination: &s.Sync},
		&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Category: catTarget, Usage: "send the `HEADER` 'Name: value' with every request, or as gRPC metadata (repeatable); {{session}}, {{parent}}, {{turn}} and {{request}} in the value stand for the ids of the session and of the agent that began it, the turn, and a fresh id"},
		&cli.StringFlag{Name: "return-header", Category: catTarget, Usage: "send the header `NAME` of an answer back with the next requests of the same session, as some routers want it", Destination: &s.ReturnHeader},
		readsFile(&cli.StringFlag{Name: "api-key-file", Category: catTarget, Usage: "read the API key from `FILE` (else from $OPENAI_API_KEY; $ANTHROPIC_API_KEY for v1/messages, $GEMINI_API_KEY for Gemini, $OLLAMA_API_KEY for Ollama)"}),
		&cli.StringFlag{Name: "extra-body", Category: catTarget, Usage: "merge the members of this `JSON` object into every OpenAI request"},
		&cli.BoolFlag{Name: "ask-server-times", Category: catTarget, Usage: "ask SGLang and Dynamo to state times, cache and draft tokens in each answer; vLLM needs its own flag --enable-per-request-metrics, and llama.cpp always states them"},
		&cli.StringSliceFlag{Name: "request-parameter", Category: catTarget, Usage: "Triton request parameter `NAME:VALUE:TYPE`, type bool, int or string; gRPC (repeatable)"},
		&cli.Int64Flag{Name: "max-answer-memory", Category: catTarget, Usage: "fail a request whose answer takes more than `BYTES` of memory: its own bytes, and 256 for each event", Value: backend.DefaultAnswerMemory},
		&cli.DurationFlag{Name: "request-timeout", Category: catTarget, Usage: "give up a request after `DURATION`; negative: never", Value: 10 * time.Minute, Destination: (*time.Duration)(&s.RequestTimeout)},
		&cli.DurationFlag{Name: "wait-ready", Category: catTarget, Usage: "wait up to `DURATION` for the server to become ready", DefaultText: "do not wait", Destination: &s.waitReady},
	}
}

// A header is one -H.
type header struct {
	name, value string
	places      []backend.Place // in value
}

// String returns the name, because the value may be a secret.
func (h header) String() string { return h.name }

// MarshalText implements encoding.TextMarshaler.
func (h header) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// target reads which server and models to ask, how, and with which headers.
func (p *parser) target(s *settings, getenv func(string) string) {
	p.models(s)
	p.service(s)
	p.headers(s, getenv)
	p.parameters(s)
	p.answerMemory(s)
}

// service reads the kind, the protocol and the address of the server.
func (p *parser) service(s *settings) {
	c := p.c
	s.rawURLs, s.Servers = p.readURLs(c.StringSlice("url"))
	simulated := len(s.rawURLs) > 0 && s.simulated()
	if s.ServiceKind == "" {
		s.ServiceKind = kindTriton
		if simulated && s.Model == "" && s.Protocol == "" {
			s.ServiceKind = kindOpenAI // the quick start
			if _, numbers := wireopenai.Numbers(s.Endpoint); !numbers && !c.IsSet("streaming") {
				s.Streaming = true
			}
		}
	}
	if s.Protocol == "" {
		s.Protocol = protocolHTTP
	}
	s.Protocol = strings.ToLower(s.Protocol)
	p.refuse(s.Protocol != protocolHTTP && s.Protocol != protocolGRPC, "-i %s: expected http or grpc", s.Protocol)
	p.refuse(s.Async && s.Sync, "--async and --sync exclude each other; drop one")
	p.refuse(s.Streaming && s.Sync, "--streaming needs asynchronous calls; drop --sync")
	s.Async = s.Async || s.Streaming || s.ServiceKind == kindOpenAI
	if why, ok := unsupportedKinds[s.ServiceKind]; ok {
		p.errorf("--service-kind %s: %s", s.ServiceKind, why)
	} else if s.kind().name != s.ServiceKind {
		p.errorf("--service-kind %s: expected %s; every server with the OpenAI API is %s: vLLM, SGLang, llama.cpp, TensorRT-LLM", s.ServiceKind, cmdline.OneOf(kindNames()), kindOpenAI)
	} else {
		s.kind().check(p, s)
	}
	p.urls(s)
}

func (p *parser) triton(s *settings) {
	p.refuse(s.Model == "", "no model; give its name with -m (an OpenAI server: add --service-kind openai)")
	if s.Endpoint != "" {
		// perf_analyzer passes over it, and people have it on their command lines.
		s.note("--endpoint has no effect with --service-kind triton")
		s.Endpoint = ""
	}
	p.refuse(s.Streaming && s.Protocol != protocolGRPC, "--streaming needs -i grpc; for an OpenAI server add --service-kind openai")
	for _, f := range []string{"extra-body", "api-key-file", "ask-server-times"} {
		p.refuse(p.c.IsSet(f), "--%s belongs to --service-kind openai", f)
	}
}

// openAI reads the flags of an OpenAI-compatible server.
func (p *parser) openAI(s *settings) {
	p.refuse(s.Protocol == protocolGRPC, "OpenAI servers speak HTTP; drop -i grpc")
	s.rawEndpoint = strings.Trim(s.Endpoint, "/")
	if s.rawEndpoint == "" {
		s.rawEndpoint = chatEndpoint
	}
	s.Endpoint = redact.Endpoint(s.rawEndpoint)
	p.modelsFit(s)
	p.endpointKnown(s)
	err := s.Realtime.Read(p.c, s.endpointPath(), &s.Streaming)
	p.refuse(err != nil, "%w", err)
	p.refuse(p.c.IsSet("streaming") && !s.Streaming && strings.HasSuffix(s.endpointPath(), ":streamGenerateContent"), "--streaming=false: the path asks for a stream; give one that ends with :generateContent")
	if what, ok := wireopenai.Numbers(s.rawEndpoint); ok && s.Streaming && what != wireopenai.ImageAnswers && wireopenai.AudioOf(s.rawEndpoint) == wireopenai.NoAudio {
		p.errorf("--streaming does not fit --endpoint %s: %s are not streamed", s.Endpoint, what)
	}
	if body := p.c.String("extra-body"); body != "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			p.errorf("--extra-body: not a JSON object (%v)", jsonscan.InWords(err))
			return
		}
		s.ExtraBody, s.bodies = redactedJSON(body), append(s.bodies, body)
	}
	if s.askServerTimes = p.c.Bool("ask-server-times"); s.askServerTimes {
		s.ExtraBody = redactedJSON(wireopenai.AskServerDetails([]byte(s.ExtraBody)))
	}
}

// endpointKnown refuses an endpoint whose requests and answers are not known: every request would fail, or
// succeed with an answer that nothing can be measured in. A template says what to send to any path.
func (p *parser) endpointKnown(s *settings) {
	switch api, ok := s.api(); {
	case !ok && p.c.String("request-template") == "":
		meant := ""
		if like := cmdline.Nearest(s.endpointPath(), render.UsualEndpoints()); like != "" {
			meant = "did you mean " + like + "? "
		}
		p.errorf("--endpoint %s: %sno API is known that has this path; a path must end with %s; --request-template sends to any path", s.Endpoint, meant, cmdline.OneOf(render.Endpoints()))
	case ok && !api.Converses():
		for _, flag := range []string{"session-concurrency", "session-rate", "sessions-as"} {
			if p.c.IsSet(flag) && p.c.String(flag) != asPrompts {
				s.needsChat = fmt.Sprintf("--%s holds conversations with a chat endpoint, and --endpoint %s is not one; use --endpoint %s", flag, s.Endpoint, chatEndpoint)
				if !p.c.IsSet("input-data") { // files can hold whole prompts
					p.errorf("%s", s.needsChat)
				}
				return
			}
		}
	}
}

// headers reads -H and the API key. getenv is os.Getenv but for tests.
func (p *parser) headers(s *settings, getenv func(string) string) {
	api, _ := s.api()
	keyHeader, _ := api.KeyHeader("")
	authorized, given := false, false // by any header, and by the key's header
	for _, h := range p.c.StringSlice("header") {
		name, value, ok := strings.Cut(h, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			p.errorf("-H: expected 'Name: value'") // the text may be a secret
			continue
		}
		h := header{name: name, value: strings.TrimSpace(value)}
		var err error
		if h.places, err = backend.ParsePlaces(h.value); err != nil {
			p.errorf("-H %s: %w", name, err)
			continue
		}
		if len(h.places) > 0 {
			s.HeaderTemplates = append(s.HeaderTemplates, name+": "+backend.HeaderTemplate(h.value))
		}
		s.Headers = append(s.Headers, h)
		p.refuse(strings.EqualFold(name, s.ReturnHeader), "-H '%s: …' and --return-header %s exclude each other; drop one", name, s.ReturnHeader)
		given = given || strings.EqualFold(name, keyHeader)
		authorized = authorized || given || strings.EqualFold(name, "authorization")
	}
	if s.ServiceKind != kindOpenAI {
		return
	}
	if urls := s.allURLs(); slices.ContainsFunc(urls, backend.HasUser) {
		bearer := func(h header) bool { return strings.EqualFold(h.name, "authorization") }
		p.refuse(slices.ContainsFunc(s.Headers, bearer), "-u has a user name, and -H 'Authorization: …' excludes it; drop one")
		all := strings.EqualFold(keyHeader, "authorization") && !slices.ContainsFunc(urls, func(u string) bool { return !backend.HasUser(u) })
		p.refuse(all && p.c.IsSet("api-key-file"), "-u has a user name, and --api-key-file excludes it; drop one")
		authorized = authorized || all
	}
	switch path := p.c.String("api-key-file"); {
	case path != "":
		key, err := disk.ReadFile(p.c.Context, path, tlsfiles.MaxBytes)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(path, `/.\`) {
			err = errors.New("there is no such file; give a file that holds the key, not the key") // which path may be
		}
		p.refuse(err != nil, "--api-key-file: %v", err)
		s.apiKey = strings.TrimSpace(string(key))
		p.refuse(err == nil && s.apiKey == "", "--api-key-file: %s is empty", path)
	case !authorized:
		s.apiKey = getenv(api.KeyVariable())
	}
	if s.apiKey != "" {
		p.refuse(given, "--api-key-file and -H '%s: …' exclude each other; drop one", keyHeader)
		name, value := api.KeyHeader(s.apiKey)
		s.Headers = append(s.Headers, header{name: name, value: value})
	}
}

// headersFor returns the headers for a server at url, whose user information takes the place of a bearer token.
func (s *settings) headersFor(url string) []header {
	return slices.DeleteFunc(slices.Clone(s.Headers), func(h header) bool { return backend.HasUser(url) && strings.EqualFold(h.name, "authorization") })
}

// headersOfLoad refuses headers that depend on what the load does not have. sends is as in [settings.read].
func (p *parser) headersOfLoad(s *settings, sends bool) {
	if err := backend.CheckHeaderName(s.ReturnHeader); s.ReturnHeader != "" && err != nil {
		p.errorf("--return-header: %w", err)
	}
	for _, h := range s.Headers {
		p.refuse(sends && s.ServiceKind == kindTriton && s.Streaming && slices.Contains(h.places, backend.PlaceRequest),
			"-H %s: %s has no value with --streaming, because all requests of a gRPC stream share its headers; drop one", h, backend.PlaceRequest)
	}
	dataDecides := s.ServiceKind == kindOpenAI && s.readsFiles() && s.SessionsAs == "" && (s.FixedSchedule || s.shapeFlag == "concurrency-range")
	if err := s.headersWithoutSession(); sends && !dataDecides && err != nil {
		p.errs = append(p.errs, err)
	}
}

// headersWithoutSession returns an error that names the headers which need sessions, if the load plays none.
func (s *settings) headersWithoutSession() error {
	if s.ServiceKind == kindOpenAI && s.conversations() {
		return nil
	}
	var errs []error
	for _, h := range s.Headers {
		for _, place := range h.places {
			if place != backend.PlaceRequest {
				errs = append(errs, cmdline.Usagef("-H %s: %s has no value, because the requests belong to no session; %s", h, place, s.sendConversations()))
			}
		}
	}
	if s.ReturnHeader != "" {
		errs = append(errs, cmdline.Usagef("--return-header %s: the requests belong to no session; %s", s.ReturnHeader, s.sendConversations()))
	}
	return errors.Join(errs...)
}

// parameters reads --request-parameter.
func (p *parser) parameters(s *settings) {
	for _, text := range p.c.StringSlice("request-parameter") {
		shown := redact.Parameter(text)
		s.Parameters = append(s.Parameters, shown)
		q, err := wirekserve.ParseParam(text)
		switch {
		case err != nil && shown != text: // the error has the credential
			p.errorf("--request-parameter %s: expected name:value:type, type bool, int or string", shown)
		case err != nil:
			p.errs = append(p.errs, fmt.Errorf("--request-parameter: %w", err))
		}
		s.requestParameters = append(s.requestParameters, q)
		s.bodies = append(s.bodies, q.Name+":"+fmt.Sprint(q.Value))
	}
	p.refuse(len(s.Parameters) > 0 && s.Protocol != protocolGRPC, "--request-parameter needs -i grpc")
}

// noteCredentials notes credentials that payloads hold.
func (s *settings) noteCredentials() {
	var names []string
	for _, part := range s.bodies {
		names = append(names, redact.MemberNames(part)...)
	}
	if text := credentialsNote(names); text != "" {
		s.note("%s", text)
	}
}

// credentialsNote returns the note that payloads hold the members with these names; "" for none.
func credentialsNote(names []string) string {
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

// maxNamesBytes bounds the names in credentialsNote.
const maxNamesBytes = 200

// answerMemory reads --max-answer-memory.
func (p *parser) answerMemory(s *settings) {
	const flag, most = "max-answer-memory", math.MaxInt32 // gRPC's largest message
	if !p.c.IsSet(flag) {
		return
	}
	s.MaxAnswerMemory = p.c.Int64(flag)
	switch {
	case s.MaxAnswerMemory < 1:
		p.errorf("--%s %d: must be at least 1", flag, s.MaxAnswerMemory)
	case s.MaxAnswerMemory > most && s.ServiceKind == kindTriton:
		p.errorf("--%s %d: with --service-kind triton it must be at most %d", flag, s.MaxAnswerMemory, most)
	}
}

// api returns the API of the endpoint.
func (s *settings) api() (render.API, bool) {
	api, ok := render.APIOf(s.endpointPath())
	return api.For(s.Style), ok
}

// endpointPath returns the endpoint without its query and outer slashes.
func (s *settings) endpointPath() string {
	path, _, _ := strings.Cut(s.rawEndpoint, "?")
	return strings.Trim(path, "/")
}

// A labelledServer is what one label of -u stands for: the server, or the servers that get
// requests in turn, of some of the runs. Its JSON is a part of the JSON of settings.
type labelledServer struct {
	Label string `json:"label"`
	serverURLs
	Transport string   `json:"transport"`
	Proxies   []string `json:"proxies,omitempty"` // without user information

	warnings []string // about this server alone
}

// serverURLs are the URLs of one server, or of several that get requests in turn.
type serverURLs struct {
	URL  string   `json:"url"`            // the first, without user information and query
	URLs []string `json:"urls,omitempty"` // likewise, all of several

	rawURLs []string
}

// readURLs reads -u. Without labels it returns the URLs of the one server, or of the
// servers that get requests in turn. With labels it returns a labelledServer for each, with the
// URLs of the first.
func (p *parser) readURLs(flags []string) (urls []string, all []labelledServer) {
	var plain string // the first without a label
	for _, text := range flags {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		label, rest, ok := cutLabel(text)
		if !ok {
			if plain == "" {
				plain = text
			}
			continue
		}
		all = append(all, labelledServer{Label: label, serverURLs: serverURLs{rawURLs: splitURLs([]string{rest})}})
	}
	switch {
	case len(all) == 0:
		return splitURLs(flags), nil
	case plain != "":
		p.errorf("-u %s has no label and -u %s=… has one; give each server a label, LABEL=URL, or none", redact.URL(plain), all[0].Label)
	case len(all) == 1:
		p.errorf("-u %s=…: one server needs no label; drop it, or give the server to compare with as -u LABEL=URL", all[0].Label)
	}
	for i := range all {
		p.label(all, i)
	}
	return all[0].rawURLs, all
}

// label checks server i.
func (p *parser) label(all []labelledServer, i int) {
	label := all[i].Label
	p.refuse(strings.Trim(label[:1], "_-.") == "", "-u %s=…: the label must begin with a letter or a digit", label)
	for _, u := range all[i].rawURLs {
		if inner, _, ok := cutLabel(u); ok {
			p.errorf("-u %s=…: a label within a list; give %s=… a -u of its own", label, inner)
		}
	}
	if len(all[i].rawURLs) == 0 {
		p.errorf("-u %s=: the server's URL is empty", label)
		all[i].rawURLs = []string{"localhost"} // for the other checks
	}
	for _, before := range all[:i] {
		switch {
		case before.Label == label:
			p.errorf("-u %s=…: the label is given twice; give each server its own, or several URLs of one as a list, %s=a:1,b:1", label, label)
		case strings.HasPrefix(before.Label, label+"."), strings.HasPrefix(label, before.Label+"."):
			p.errorf("-u %s=…, -u %s=…: NAME.%s.* would also mean the files of the other; choose labels so that none begins with the other and a dot",
				before.Label, label, shorterText(before.Label, label))
		}
	}
}

func shorterText(a, b string) string {
	if len(a) < len(b) {
		return a
	}
	return b
}

// labelCharacters are allowed in a label. None of them ends the host of a URL.
const labelCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// cutLabel splits LABEL=URL. ok is false for a URL without a label, such as
// a:1/?x=1, sim://?ttft=5ms, or me=x:password@host, whose "=" is in the query or in the
// user information. In a URL with a label, user information needs a scheme.
func cutLabel(text string) (label, rest string, ok bool) {
	label, rest, ok = strings.Cut(text, "=")
	if !ok || label == "" || strings.Trim(label, labelCharacters) != "" {
		return "", text, false
	}
	if !strings.Contains(rest, "://") && strings.Contains(rest, "@") {
		return "", text, false
	}
	return label, rest, true
}

// splitURLs returns the URLs in the values of -u: one URL, or a list. A list has no passwords,
// queries or settings of a simulated server, because these may hold commas.
func splitURLs(flags []string) []string {
	var all []string
	for _, text := range flags {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		if strings.ContainsAny(text, "@?") || strings.HasPrefix(text, simScheme) {
			all = append(all, text)
			continue
		}
		for u := range strings.SplitSeq(text, ",") {
			all = append(all, strings.TrimSpace(u))
		}
	}
	return all
}

// urls resolves the servers.
func (p *parser) urls(s *settings) {
	if len(s.rawURLs) == 0 {
		s.rawURLs = []string{s.kind().addr(s)}
	}
	secured, simulated := map[bool]string{}, map[bool]string{}
	for _, u := range s.allURLs() {
		secured[isSecured(u)] = redact.URL(u)
		simulated[strings.HasPrefix(u, simScheme)] = redact.URL(u)
	}
	switch {
	case len(simulated) > 1 && len(s.Servers) > 0:
		p.errorf("-u %s, -u %s: a simulated server in this process is compared with another one only; start it with pa-record sim instead", simulated[true], simulated[false])
	case len(secured) > 1:
		p.errorf("-u %s, -u %s: some with TLS and some without; make all the same", secured[true], secured[false])
	}
	p.showURLs(&s.serverURLs)
	for i := range s.Servers {
		p.showURLs(&s.Servers[i].serverURLs)
	}
}

// showURLs checks rawURLs and sets the others from them.
func (p *parser) showURLs(urls *serverURLs) {
	var all []string
	for i, u := range urls.rawURLs {
		shown := redact.URL(u)
		switch {
		case u == "":
			p.errorf("-u: a server's URL is empty")
		case slices.Contains(urls.rawURLs[:i], u):
			p.errorf("-u %s: given twice", shown)
		case strings.HasPrefix(u, simScheme) && len(urls.rawURLs) > 1:
			p.errorf("-u %s: a simulated server cannot be one of several", shown)
		}
		all = append(all, shown)
	}
	if urls.URL = all[0]; len(all) > 1 {
		urls.URLs = all
	}
}

// isSecured reports whether a URL's scheme asks for TLS.
func isSecured(u string) bool {
	scheme, _, _ := strings.Cut(u, "://")
	return scheme == "https" || scheme == "grpcs"
}

// simulated reports whether the server is a simulated one in this process.
func (s *settings) simulated() bool { return strings.HasPrefix(s.rawURLs[0], simScheme) }

// addressOf returns host[:port] of a URL with or without a scheme.
func addressOf(u string) string {
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	}
	u = u[strings.LastIndexByte(u, '@')+1:]
	if i := strings.IndexAny(u, "/?#"); i >= 0 {
		u = u[:i]
	}
	return u
}

// hostOf returns the host of a URL, without its port.
func hostOf(u string) string { return (&url.URL{Host: addressOf(u)}).Hostname() }

// forServer returns the settings for the runs against server i of Servers; s itself if
// the servers have no labels.
func (s *settings) forServer(i int) *settings {
	if len(s.Servers) == 0 {
		return s
	}
	c, server := *s, &s.Servers[i]
	c.Label, c.serverURLs = server.Label, server.serverURLs
	c.Transport, c.Proxies = server.Transport, server.Proxies
	c.warnings = slices.Concat(s.warnings, server.warnings)
	return &c
}

// allURLs returns the URLs of all servers, with user information and query.
func (s *settings) allURLs() []string {
	if len(s.Servers) == 0 {
		return s.rawURLs
	}
	var all []string
	for i := range s.Servers {
		all = append(all, s.Servers[i].rawURLs...)
	}
	return all
}

// mostURLs returns how many URLs the label with the most of them has. Only one label is
// recorded at a time.
func (s *settings) mostURLs() int {
	most := len(s.rawURLs)
	for i := range s.Servers {
		most = max(most, len(s.Servers[i].rawURLs))
	}
	return most
}

// labelled completes the servers that have labels: what of the settings depends on the
// server's address. getenv is os.Getenv but for tests.
func (p *parser) labelled(s *settings, getenv func(string) string) {
	for i := range s.Servers {
		server := &s.Servers[i]
		c := s.forServer(i)
		c.Proxies, c.warnings = nil, nil
		if err := p.proxies(c, p.secured(c), getenv); err != nil {
			p.errs = append(p.errs, err)
			return
		}
		s.proxy = c.proxy
		p.transport(c)
		server.Transport, server.Proxies, server.warnings = c.Transport, c.Proxies, c.warnings
	}
}

// models reads which models are asked.
func (p *parser) models(s *settings) {
	var all []string
	for _, text := range p.c.StringSlice("model") {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		for name := range strings.SplitSeq(text, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
				p.errorf("-m %s: a model has no name; expected NAME,NAME", text)
			case slices.Contains(all, name):
				p.errorf("-m %s: the model is named twice; drop one", name)
			default:
				all = append(all, name)
			}
		}
	}
	if len(all) > 0 {
		s.Model = all[0]
	}
	how := p.c.String("model-selection-strategy")
	switch how {
	case "", workload.RoundRobinModels, workload.RandomModels:
	default:
		p.errorf("--model-selection-strategy %s: expected round_robin or random", how)
	}
	if len(all) < 2 {
		return // one model needs no strategy
	}
	s.Models, s.ModelChoice = all, workload.RoundRobinModels
	if how != "" {
		s.ModelChoice = how
	}
}

// modelsFit refuses several models where the model is not in the request. It is
// called when the endpoint is known.
func (p *parser) modelsFit(s *settings) {
	if len(s.Models) == 0 || s.ServiceKind != kindOpenAI {
		return
	}
	if api, ok := s.api(); ok && api.ModelInPath() {
		p.errorf("--endpoint %s names one model, and -m %s; make a run for each", s.Endpoint, strings.Join(s.Models, ","))
	}
}

// moreModels returns the models without the first.
func (s *settings) moreModels() []string {
	if len(s.Models) == 0 {
		return nil
	}
	return s.Models[1:]
}

// turns returns how many models get requests in turn.
func (s *settings) turns() int {
	if s.ModelChoice == workload.RoundRobinModels {
		return len(s.Models)
	}
	return 1
}
