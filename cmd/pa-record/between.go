package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// betweenTime is how long a server may take for a POST of --between-levels.
const betweenTime = time.Minute

// betweenURLs reads --between-levels.
func (p *settingsParser) betweenURLs(s *settings) {
	for _, text := range p.c.StringSlice("between-levels") {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			p.errorf("--between-levels %s: expected a URL, http://host:port/path", redact.URL(text))
			continue
		}
		s.between = append(s.between, u)
		s.BetweenLevels = append(s.BetweenLevels, redact.URL(text))
	}
}

// postBetween asks the servers for what is to be done between levels, a flush of
// their caches, say. The configured headers, keys among them, go to the servers
// under test only.
func (s *settings) postBetween(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, betweenTime)
	defer cancel()
	for i, u := range s.between {
		if err := s.post(ctx, u); err != nil {
			return fmt.Errorf("--between-levels %s: %w", s.BetweenLevels[i], err)
		}
	}
	return nil
}

func (s *settings) post(ctx context.Context, u *url.URL) error {
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
	for _, server := range s.rawURLs {
		if !strings.EqualFold(addressOf(server), u.Host) {
			continue
		}
		for _, h := range s.headers {
			req.Header.Add(h.name, h.value)
			secrets.AddHeader(h.name, h.value)
		}
		break
	}
	transport := &http.Transport{TLSClientConfig: s.tlsFor(u.Hostname()), DisableKeepAlives: true}
	if s.proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return s.proxy(r.URL) }
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
