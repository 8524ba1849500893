package kserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

const (
	maxControlBytes = 16 << 20 // of an answer to a query of Check
	// maxHeadBytes bounds the head of an answer, together with the interim heads before it.
	// The library's own limit lets fields of a few bytes take 100 MB of memory.
	maxHeadBytes = 1 << 20
)

// transport returns an HTTP/1.1 transport of one connection: with the configured proxy,
// without compression and HTTP/2.
func (b *Backend) transport() *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := b.dialer().DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &readAfterWriteConn{Conn: c, number: int(b.made.Add(1)), spoken: make(chan struct{})}, nil
		},
		Proxy:                  http.ProxyURL(b.proxy),
		OnProxyConnectResponse: proxyRefusal,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeadBytes,
		MaxConnsPerHost:        1,
		ReadBufferSize:         64 << 10,
		WriteBufferSize:        64 << 10,
	}
	if b.target.tls {
		t.TLSClientConfig = b.tlsConfig()
	}
	return t
}

// url returns the address of path, which begins with "/v2".
func (b *Backend) url(path string) string {
	scheme := "http://"
	if b.target.tls {
		scheme = "https://"
	}
	return scheme + b.target.host + b.target.path + path
}

// modelPath returns the path of the model.
func (b *Backend) modelPath() string { return pathOf(b.cfg.Model, b.cfg.Version) }

// pathOf returns /v2/models/M[/versions/V].
func pathOf(model, version string) string {
	p := "/v2/models/" + url.PathEscape(model)
	if version != "" {
		p += "/versions/" + url.PathEscape(version)
	}
	return p
}

// httpControl is the control over HTTP, on a connection of its own.
type httpControl struct {
	b *Backend
	t *http.Transport
}

func (b *Backend) newHTTPControl() *httpControl {
	t := b.transport()
	t.TLSHandshakeTimeout = min(backend.HandshakeTimeout, b.cfg.CheckTimeout/2)
	return &httpControl{b, t}
}

// Close implements control.
func (c *httpControl) Close() error {
	c.t.CloseIdleConnections()
	return nil
}

// ask sends one request and returns status and body.
func (c *httpControl) ask(ctx context.Context, method, path string) (code int, body []byte, err error) {
	var send io.Reader
	if method == http.MethodPost {
		send = strings.NewReader("{}")
	}
	return c.send(ctx, method, path, send)
}

// tell posts v as JSON; a status other than 200 is an error.
func (c *httpControl) tell(ctx context.Context, path string, v any) error {
	js, err := json.Marshal(v)
	if err != nil {
		return err
	}
	code, body, err := c.send(ctx, http.MethodPost, path, bytes.NewReader(js))
	if err == nil && code != http.StatusOK {
		return c.refused("the server", code, body)
	}
	return err
}

func (c *httpControl) send(ctx context.Context, method, path string, send io.Reader) (code int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.b.url(path), send)
	if err != nil {
		return 0, nil, err
	}
	c.b.addHeaders(req.Header)
	resp, err := c.t.RoundTrip(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxControlBytes))
	if resp.StatusCode != http.StatusOK {
		body = backend.DecodedError(resp.Header, body)
	} else if err == nil {
		body, _, err = backend.Decompressed(resp.Header, body, maxControlBytes)
	}
	return resp.StatusCode, body, err
}

// get sends a GET about the model and returns the body; a status other than 200 is an
// error.
func (c *httpControl) get(ctx context.Context, path string) ([]byte, error) {
	code, body, err := c.ask(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, c.refused("the model", code, body)
	}
	return body, nil
}

// getJSON decodes the JSON answer to a GET about the model into v.
func (c *httpControl) getJSON(ctx context.Context, path string, v any) error {
	body, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	return parseAnswer(path, body, v)
}

// parseAnswer decodes the body of the answer to a GET into v.
func parseAnswer(path string, body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("GET %s: the answer is not the JSON expected: %w", path, jsonscan.InWords(err))
	}
	return nil
}

// serverText returns the text of the server's {"error":…}, otherwise the beginning of body.
func (b *Backend) serverText(body []byte) (text string, isError bool) {
	var r wire.Response
	if r.ParseHTTP(body, -1) == nil && r.Error != "" {
		return b.clipped(r.Error), true
	}
	return b.clipped(string(body[:min(len(body), 4*maxMessage)])), false
}

// errorText returns the message of an error.
func (b *Backend) errorText(code int, body []byte) string {
	text, isError := b.serverText(body)
	switch {
	case isError:
		return text
	case text != "":
		return fmt.Sprintf("HTTP status %d: %s", code, text)
	}
	return fmt.Sprintf("HTTP status %d", code)
}

// refused returns the error of an answer with a status other than 200; who is "the
// server" or "the model". A *refusal is about the access, not about who.
func (c *httpControl) refused(who string, code int, body []byte) error {
	coded := fmt.Sprintf("HTTP %d", code)
	text, _ := c.b.serverText(body)
	if text != "" {
		coded += ": " + text
	}
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return &refusal{coded + credentialsHint}
	case code == http.StatusTooManyRequests:
		return &refusal{who + " is at a limit: " + coded}
	case code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout:
		return &refusal{who + " is not ready: " + coded}
	case code >= http.StatusInternalServerError:
		return &refusal{who + " fails: " + coded}
	case code == http.StatusBadRequest && !c.b.target.tls && strings.Contains(strings.ToLower(text), "https"):
		return &refusal{coded + "; use https:// in -u"}
	}
	return errors.New(c.b.errorText(code, body))
}

func (c *httpControl) live(ctx context.Context) error {
	const path = "/v2/health/live"
	code, body, err := c.ask(ctx, http.MethodGet, path)
	if err != nil || code == http.StatusOK {
		return err
	}
	err = c.refused("the server", code, body)
	if _, ok := errors.AsType[*refusal](err); ok {
		return err
	}
	return fmt.Errorf("%w: GET %s: %w", errNotServed, path, err)
}

// ready reports whether the model is ready. It returns an error if the server does not
// answer, refuses the credentials (401, 403) or fails (500). Any other status means not
// ready: Triton answers 400, other servers 503.
func (c *httpControl) ready(ctx context.Context) (bool, error) {
	code, body, err := c.ask(ctx, http.MethodGet, c.b.modelPath()+"/ready")
	switch {
	case err != nil || code == http.StatusOK:
		return err == nil, err
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusInternalServerError:
		return false, c.refused("the model", code, body)
	}
	return false, nil
}

func (c *httpControl) metadata(ctx context.Context) (modelInfo, error) {
	var m struct {
		Name            string
		Inputs, Outputs []tensorSpec
	}
	path := c.b.modelPath()
	body, err := c.get(ctx, path)
	if err != nil {
		return modelInfo{}, err
	}
	if err := parseAnswer(path, body, &m); err != nil {
		return modelInfo{}, fmt.Errorf("%w: %w", errNotServed, err)
	}
	return modelInfo{Name: m.Name, Inputs: m.Inputs, Outputs: m.Outputs}, nil
}

func (c *httpControl) config(ctx context.Context, model, version string) (m modelConfig, err error) {
	path := pathOf(model, version) + "/config"
	code, body, err := c.ask(ctx, http.MethodGet, path)
	switch {
	case err != nil:
		return m, err
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return m, &noConfigError{c.refused("the model", code, body)}
	case code != http.StatusOK:
		return m, c.refused("the model", code, body)
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return modelConfig{}, fmt.Errorf("%s: %w", path, jsonscan.InWords(err))
	}
	return m, nil
}

func (c *httpControl) index(ctx context.Context) ([]string, error) {
	code, body, err := c.ask(ctx, http.MethodPost, "/v2/repository/index")
	if err != nil || code != http.StatusOK {
		return nil, err
	}
	var ms []struct{ Name string }
	if err := json.Unmarshal(body, &ms); err != nil {
		return nil, jsonscan.InWords(err)
	}
	var all []string
	for _, m := range ms {
		all = append(all, m.Name)
	}
	return all, nil
}

func (c *httpControl) trace(ctx context.Context, settings map[string][]string) error {
	all := map[string]any{}
	for name, values := range settings {
		switch {
		case values == nil:
			all[name] = nil
		case name == "trace_level":
			all[name] = values // the only list
		default:
			all[name] = values[0]
		}
	}
	return c.tell(ctx, pathOf(c.b.cfg.Model, "")+"/trace/setting", all)
}

func (c *httpControl) register(ctx context.Context, name, key string, bytes int64) error {
	return c.tell(ctx, "/v2/systemsharedmemory/region/"+url.PathEscape(name)+"/register", map[string]any{"key": key, "offset": 0, "byte_size": bytes})
}

func (c *httpControl) unregister(ctx context.Context, name string) error {
	return c.tell(ctx, "/v2/systemsharedmemory/region/"+url.PathEscape(name)+"/unregister", struct{}{})
}

// addHeaders sets the configured headers in h.
func (b *Backend) addHeaders(h http.Header) {
	for k, vs := range b.fixed {
		h.Del(k)
		for _, v := range vs {
			h.Add(k, v)
		}
	}
}

// listsModels reports whether the server lists its models like an OpenAI server.
func (b *Backend) listsModels(ctx context.Context) bool {
	c := b.newHTTPControl()
	code, body, err := c.ask(ctx, http.MethodGet, "/v1/models")
	var list struct {
		Data []struct{ ID string }
	}
	return c.Close() == nil && err == nil && code == http.StatusOK && json.Unmarshal(body, &list) == nil && list.Data != nil
}

// speaksHTTP reports whether an HTTP server answers at the target.
func (b *Backend) speaksHTTP(ctx context.Context) bool {
	c := b.newHTTPControl()
	_, _, err := c.ask(ctx, http.MethodGet, "/v2/health/live")
	return c.Close() == nil && err == nil
}
