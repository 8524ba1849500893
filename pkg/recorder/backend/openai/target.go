package openai

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A target is the address of a server and the paths of requests.
type target struct {
	secure bool       // https
	addr   string     // host:port to dial
	host   string     // value of the Host header
	name   string     // name in the server's certificate
	uri    string     // path and query of requests
	models string     // path and query of the list of models
	auth   Header     // from the URL's user name and password
	query  string     // query of uri, which may hold a key
	api    render.API // 0: the endpoint takes no prompts
	stream bool       // the path asks for streamed answers: generate_stream, streamGenerateContent

	// url and modelsURL have no password and no query; they are for messages.
	url, modelsURL string
}

func newTarget(rawURL, endpoint string) (*target, error) {
	if rawURL == "" {
		return nil, errors.New("no URL; give the server with -u host:port or -u http://host:port")
	}
	full := rawURL
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil {
		return nil, fmt.Errorf("the URL cannot be read: %w; write host:port or http://host:port", withoutURL(err))
	}
	bare, _, _ := strings.Cut(endpoint, "?")
	if api, _ := render.APIOf(bare); api == render.Realtime && (u.Scheme == "ws" || u.Scheme == "wss") {
		u.Scheme = "http" + strings.TrimPrefix(u.Scheme, "ws")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("URL %s: scheme %q; use http or https", u.Scheme+"://"+u.Host, u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the URL has no host; write host:port or http://host:port")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("URL %s: %s is not a port; give a port from 1 to 65535", u.Scheme+"://"+u.Host, p)
		}
	}
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	path, query, _ := strings.Cut(strings.TrimLeft(endpoint, "/"), "?")
	shown := endpoint[:len(endpoint)-len(query)] // for messages: without the query, but with its "?"
	base := strings.TrimRight(u.EscapedPath(), "/")
	t := &target{
		secure: u.Scheme == "https", host: u.Host, name: u.Hostname(),
		addr: backend.HostPort(u),
	}
	root, fullPath := joinPath(base, path)
	if t.api, _ = render.APIOf(fullPath); t.api == render.GenerateIDs {
		root = strings.TrimSuffix(root, "/inference")
	}
	t.stream = strings.HasSuffix(fullPath, "/generate_stream") || strings.HasSuffix(fullPath, ":streamGenerateContent")
	if strings.ContainsAny(fullPath, " \t\r\n") || strings.ContainsAny(query, " \t\r\n") {
		return nil, fmt.Errorf("endpoint %q: expected a path without white space", shown)
	}
	t.uri = withQuery(fullPath, u.RawQuery, query)
	_, t.query, _ = strings.Cut(t.uri, "?")
	if t.api == render.Gemini && t.stream && !slices.Contains(strings.Split(t.query, "&"), "alt=sse") {
		return nil, fmt.Errorf("endpoint %s: without alt=sse the answer is one JSON array, in which no event has a time; give %s?alt=sse", shown, path)
	}
	t.models = withQuery(root+"/v1/models", u.RawQuery, query)
	t.url = u.Scheme + "://" + u.Host + fullPath
	t.modelsURL = u.Scheme + "://" + u.Host + root + "/v1/models"
	if u.User != nil {
		t.auth = Header{"Authorization", backend.BasicAuthorization(u.User)}
	}
	return t, nil
}

// secretQuery returns the query without the parameters that are no secrets: the values of some of v1/realtime's are words of
// its messages, as intent=transcription.
func (t *target) secretQuery() string {
	if t.api != render.Realtime {
		return t.query
	}
	parts := strings.Split(t.query, "&")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "intent=") || strings.HasPrefix(p, "model=") }), "&")
}

// joinPath appends endpoint to base and returns the full path, and as root its part
// before "/v1/" (base if the path has no "/v1/"). If base already ends with the first
// parts of endpoint, such as "/v1" or all of it, joinPath does not repeat them.
func joinPath(base, endpoint string) (root, full string) {
	full = base + "/" + endpoint
	parts := strings.Split(endpoint, "/")
	for n := len(parts); n > 0; n-- {
		if front := "/" + strings.Join(parts[:n], "/"); strings.HasSuffix(base, front) {
			full = strings.TrimSuffix(base, front) + "/" + endpoint
			break
		}
	}
	if root, _, ok := strings.Cut(full, "/v1/"); ok {
		return root, full
	}
	return base, full
}

// streamMember returns the object that asks for a streamed answer.
func (t *target) streamMember() string {
	if t.api == render.Speech {
		return `{"stream_format":"sse"}`
	}
	return `{"stream":true}`
}

// contentType returns the type of the bodies of requests.
func (t *target) contentType() string {
	if t.api == render.Transcription {
		return openai.AudioFormType
	}
	return "application/json"
}

// ollama reports whether the endpoint is one of Ollama's own.
func (t *target) ollama() bool { return t.api == render.OllamaChat || t.api == render.OllamaGenerate }

// geminiModel returns the model in the path of a request to Gemini.
func (t *target) geminiModel() string {
	path, _, _ := strings.Cut(t.uri, "?")
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	return name
}

func withQuery(path string, queries ...string) string {
	sep := "?"
	for _, q := range queries {
		if q != "" {
			path += sep + q
			sep = "&"
		}
	}
	return path
}

// withoutURL returns the text of an error from url.Parse up to its first quotation mark,
// and without the URL, because either may hold a password.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	what, _, _ := strings.Cut(err.Error(), `"`)
	return errors.New(strings.TrimSpace(what))
}
