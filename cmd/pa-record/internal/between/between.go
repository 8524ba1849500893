package between

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// timeout bounds the time of all requests between two levels.
const timeout = time.Minute

// Post posts to the URLs of --between-levels, to flush the servers' caches, say. The
// configured headers, which may hold keys, go only to the servers under test.
func Post(ctx context.Context, s *settings.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for i, u := range s.BetweenURLs {
		if err := post(ctx, s, u); err != nil {
			return fmt.Errorf("--between-levels %s: %w", s.BetweenLevels[i], err)
		}
	}
	return nil
}

// post sends one request of --between-levels.
func post(ctx context.Context, s *settings.Settings, u *url.URL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), http.NoBody)
	if err != nil {
		return errors.New("it cannot be asked") // the text may have a password
	}
	var secrets redact.Secrets
	secrets.AddQuery(u.RawQuery)
	if password, ok := u.User.Password(); ok {
		req.SetBasicAuth(u.User.Username(), password)
		secrets.AddHeader("Authorization", req.Header.Get("Authorization"))
	}
	for _, server := range s.AllURLs() {
		if !strings.EqualFold(settings.AddressOf(server), u.Host) {
			continue
		}
		for _, h := range s.Headers {
			req.Header.Add(h.Name, h.Value)
			secrets.AddHeader(h.Name, h.Value)
		}
		break
	}
	transport := &http.Transport{TLSClientConfig: s.TLSFor(u.Hostname()), DisableKeepAlives: true}
	if s.Proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return s.Proxy(r.URL) }
	}
	resp, err := transport.RoundTrip(req) // no redirects: they would take the key along
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	switch {
	case err != nil:
		return err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return errors.New(strings.TrimSuffix(resp.Status+": "+secrets.Text(openai.OneLine(body)), ": "))
	}
	return nil
}
