package kserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// maxControlBytes bounds the answers to Check's questions.
const maxControlBytes = 16 << 20

// transport returns an HTTP/1.1 client side of one connection: no proxy of the
// environment, no compression, no HTTP/2.
func (b *Backend) transport() *http.Transport {
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &mutedConn{Conn: c, spoken: make(chan struct{})}, nil
		},
		DisableCompression: true,
		MaxConnsPerHost:    1,
		ReadBufferSize:     64 << 10,
		WriteBufferSize:    64 << 10,
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

// modelPath is /v2/models/M[/versions/V].
func (b *Backend) modelPath() string {
	p := "/v2/models/" + url.PathEscape(b.cfg.Model)
	if b.cfg.Version != "" {
		p += "/versions/" + url.PathEscape(b.cfg.Version)
	}
	return p
}

// httpControl is the control over HTTP, on a connection of its own.
type httpControl struct {
	b *Backend
	t *http.Transport
}

func (b *Backend) newHTTPControl() *httpControl { return &httpControl{b, b.transport()} }

func (c *httpControl) close() error {
	c.t.CloseIdleConnections()
	return nil
}

// ask sends one request and returns status and body.
func (c *httpControl) ask(ctx context.Context, method, path string) (code int, body []byte, err error) {
	var send io.Reader
	if method == http.MethodPost {
		send = strings.NewReader("{}")
	}
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
	return resp.StatusCode, body, err
}

// get decodes the JSON answer to a GET into v.
func (c *httpControl) get(ctx context.Context, path string, v any) error {
	code, body, err := c.ask(ctx, http.MethodGet, path)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return errors.New(errorText(code, body))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: GET %s: the answer is not the JSON expected: %w", errNotServed, path, err)
	}
	return nil
}

// errorText is the server's {"error":…}, else the head of what it said.
func errorText(code int, body []byte) string {
	var r wire.Response
	if r.ParseHTTP(body, -1) == nil && r.Error != "" {
		return clip(r.Error)
	}
	if s := clip(string(body[:min(len(body), maxMessage)])); s != "" {
		return fmt.Sprintf("HTTP status %d: %s", code, s)
	}
	return fmt.Sprintf("HTTP status %d", code)
}

func (c *httpControl) live(ctx context.Context) error {
	const path = "/v2/health/live"
	code, body, err := c.ask(ctx, http.MethodGet, path)
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%w: GET %s: %s", errNotServed, path, errorText(code, body))
	}
	return err
}

func (c *httpControl) ready(ctx context.Context) (bool, error) {
	code, _, err := c.ask(ctx, http.MethodGet, c.b.modelPath()+"/ready")
	return code == http.StatusOK, err
}

func (c *httpControl) metadata(ctx context.Context) (Model, error) {
	type tensor struct {
		Name     string
		Datatype wire.Datatype
		Shape    []int64
	}
	var m struct {
		Name            string
		Versions        []string
		Inputs, Outputs []tensor
	}
	if err := c.get(ctx, c.b.modelPath(), &m); err != nil {
		return Model{}, err
	}
	specs := func(ts []tensor) []TensorSpec {
		out := make([]TensorSpec, len(ts))
		for i, t := range ts {
			out[i] = TensorSpec{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape}
		}
		return out
	}
	return Model{Name: m.Name, Versions: m.Versions, Inputs: specs(m.Inputs), Outputs: specs(m.Outputs)}, nil
}

func (c *httpControl) config(ctx context.Context) (modelConfig, error) {
	path := c.b.modelPath() + "/config"
	code, body, err := c.ask(ctx, http.MethodGet, path)
	switch {
	case err != nil:
		return modelConfig{}, err
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusNotImplemented:
		return modelConfig{}, errNoConfig
	case code != http.StatusOK:
		return modelConfig{}, errors.New(errorText(code, body))
	}
	var m struct {
		MaxBatch int `json:"max_batch_size"`
		Policy   struct {
			Decoupled bool
		} `json:"model_transaction_policy"`
		Sequence json.RawMessage `json:"sequence_batching"`
		Input    []struct {
			Name     string
			Optional bool
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return modelConfig{}, fmt.Errorf("%s: %w", path, err)
	}
	out := modelConfig{maxBatch: max(m.MaxBatch, 0), decoupled: m.Policy.Decoupled, stateful: m.Sequence != nil}
	for _, in := range m.Input {
		if in.Optional {
			out.optional = append(out.optional, in.Name)
		}
	}
	return out, nil
}

func (c *httpControl) index(ctx context.Context) ([]string, error) {
	code, body, err := c.ask(ctx, http.MethodPost, "/v2/repository/index")
	if err != nil || code != http.StatusOK {
		return nil, err
	}
	var ms []struct{ Name string }
	if err := json.Unmarshal(body, &ms); err != nil {
		return nil, err
	}
	var all []string
	for _, m := range ms {
		all = append(all, m.Name)
	}
	return all, nil
}

// addHeaders puts the configured headers over those in h.
func (b *Backend) addHeaders(h http.Header) {
	for k, vs := range b.cfg.Headers {
		h.Del(k)
		for _, v := range vs {
			h.Add(k, v)
		}
	}
}

// speaksHTTP reports whether an HTTP server answers at the target.
func (b *Backend) speaksHTTP(ctx context.Context) bool {
	c := b.newHTTPControl()
	_, _, err := c.ask(ctx, http.MethodGet, "/v2/health/live")
	return c.close() == nil && err == nil
}
