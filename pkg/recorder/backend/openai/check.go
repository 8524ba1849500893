package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sockstamp"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// checkTimeout bounds Check if the context does not.
const checkTimeout = 30 * time.Second

// Check asks the server for its models. It returns an error if there is no connection, if
// the server does not speak HTTP/1, if it is not ready (502 to 504), or if it rejects the
// credentials (401, 403). Any other answer is accepted, because servers need not have a
// list. A list without a configured model gives a warning, because gateways accept names
// that they do not list: see CheckWarnings.
func (b *Backend) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if b.release == nil {
		b.release = sockstamp.Hold()
	}
	s := newSender(b, rxclock.New()) // nobody looks at the times
	defer func() { _ = s.Close() }() // nothing was written that could be lost
	if b.target.secure {
		b.checking = true
		_, err := s.connect(ctx)
		b.checking = false
		if err != nil && ctx.Err() == nil {
			return b.noTLS(ctx, err)
		}
	}
	x := &backend.Exchange{}
	s.Send(ctx, b.newPayload(http.MethodGet, b.target.models, nil), x)
	r := &x.Request
	switch r.Status {
	case export.StatusOK:
		b.useModels(modelNames(x.Raw))
		return nil
	case export.StatusHTTPError:
		return b.checkStatus(r.Code, r.Message)
	case export.StatusConnectError:
		return errors.New(r.Message) // begins with the URL
	case export.StatusTimeout:
		return fmt.Errorf("%s: no answer in time; is -u the server's HTTP port?", b.target.modelsURL)
	case export.StatusTruncated:
		if !b.target.secure && b.proxy == nil && backend.SpeaksTLS(ctx, b.target.addr) {
			return fmt.Errorf("%s: the server speaks TLS; use https:// in -u", b.target.modelsURL)
		}
		return fmt.Errorf("%s: %s; is -u the server's HTTP port?", b.target.modelsURL, r.Message)
	case export.StatusCancelled:
		return fmt.Errorf("%s: %w", b.target.modelsURL, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %s", b.target.modelsURL, r.Message)
}

// noTLS describes a failed TLS connection. Its error names a server that speaks plain HTTP.
func (b *Backend) noTLS(ctx context.Context, err error) error {
	var failed *handshakeError
	var record tls.RecordHeaderError // its message already says that there is no TLS
	if b.proxy == nil && errors.As(err, &failed) && !errors.As(err, &record) {
		switch {
		case backend.SpeaksHTTP(ctx, b.target.addr):
			return fmt.Errorf("%s: the server speaks plain HTTP, not TLS; use http:// in -u", b.target.url)
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("%s: no TLS handshake in time; if the server speaks plain HTTP, use http:// in -u", b.target.url)
		}
	}
	return b.openError(ctx, err)
}

// checkStatus returns an error for the status of a failed request for the models, or nil
// if the status is acceptable.
func (b *Backend) checkStatus(code int, msg string) error {
	at := fmt.Sprintf("%s: %d %s", b.target.modelsURL, code, strings.ToLower(http.StatusText(code)))
	switch {
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		name, value := b.target.api.KeyHeader("…")
		return fmt.Errorf("%s: %s; give -H '%s: %s' or %s", at, msg, name, value, b.target.api.KeyVariable())
	case code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout:
		return fmt.Errorf("%s: %s; is the server ready?", at, msg)
	case code == http.StatusBadRequest && !b.target.secure && strings.Contains(strings.ToLower(msg), "https"):
		return fmt.Errorf("%s: %s; use https:// in -u", at, msg)
	case code < http.StatusBadRequest && strings.HasPrefix(msg, "redirected to https://") && !b.target.secure:
		return fmt.Errorf("%s: %s", at, msg)
	}
	return nil
}

// useModels uses the only model of the list if none is configured. Otherwise it warns
// about configured models that the list lacks.
func (b *Backend) useModels(listed, aliases []string) {
	b.listed, b.warnings = listed, nil
	if b.cfg.Model == "" {
		if len(listed) == 1 && !strings.Contains(listed[0], "*") {
			b.model = listed[0]
		}
		return
	}
	if len(listed) == 0 {
		return
	}
	var unlisted []string
	for _, wanted := range append([]string{b.cfg.Model}, b.cfg.Models...) {
		known := func(name string) bool { return sameModel(name, wanted) }
		if !slices.ContainsFunc(listed, known) && !slices.ContainsFunc(aliases, known) {
			unlisted = append(unlisted, wanted)
		}
	}
	if len(unlisted) > 0 {
		b.warnings = []backend.Warning{b.notListed(unlisted, listed, aliases)}
	}
}

// notListed returns the warning about models that the server's list lacks. Some
// servers, such as trtllm-serve, are started with the path of the model's folder
// and list the folder's base name.
func (b *Backend) notListed(unlisted, listed, aliases []string) backend.Warning {
	wanted, offers := someNames(unlisted), b.secrets.Text(someNames(listed))
	w := backend.Warning{
		Text:      fmt.Sprintf("%s does not list model %s; it lists %s; pa-record sends %[2]s anyway", b.target.modelsURL, wanted, offers),
		IfRefused: fmt.Sprintf("the server lists %s; choose one with --model", offers),
	}
	base := path.Base(unlisted[0])
	if len(unlisted) == 1 && base != unlisted[0] && (slices.Contains(listed, base) || slices.Contains(aliases, base)) {
		w.Text = fmt.Sprintf("%s does not list model %s, but its base name %s; pa-record sends %[2]s anyway; if the server refuses it, give --model %[4]s",
			b.target.modelsURL, wanted, someNames([]string{base}), base)
	}
	return w
}

// CheckWarnings implements [backend.Warner].
func (b *Backend) CheckWarnings() []backend.Warning { return b.warnings }

// sameModel reports whether a listed name covers the wanted one. Ollama lists
// "x:latest" for x; LiteLLM lists "openai/*" for all names that begin so.
func sameModel(listed, wanted string) bool {
	if before, after, ok := strings.Cut(listed, "*"); ok {
		return len(wanted) >= len(before)+len(after) && strings.HasPrefix(wanted, before) && strings.HasSuffix(wanted, after)
	}
	return listed == wanted || listed == wanted+":latest"
}

// modelNames parses a list of models; it returns nothing if raw is no list. llama.cpp lists
// aliases.
func modelNames(raw [][]byte) (names, aliases []string) {
	var list struct {
		Data []struct {
			ID      string   `json:"id"`
			Aliases []string `json:"aliases"`
		} `json:"data"`
	}
	if len(raw) != 1 || json.Unmarshal(raw[0], &list) != nil {
		return nil, nil
	}
	for _, m := range list.Data {
		if m.ID != "" {
			names, aliases = append(names, m.ID), append(aliases, m.Aliases...)
		}
	}
	return names, aliases
}

// someNames lists up to five names, each bounded.
func someNames(names []string) string {
	const most, longest = 5, 80
	var quoted []string
	for _, name := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%.*q", longest, name))
	}
	s := strings.Join(quoted, ", ")
	if n := len(names) - most; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}
