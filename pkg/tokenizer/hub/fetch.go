package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Bounds of a download. The largest tokenizer.json in use has about 35 MB.
const (
	maxFileBytes   = 256 << 20
	maxRedirects   = 5
	requestTimeout = 5 * time.Minute
)

// errNotFound is the error for a file that the hub does not have.
var errNotFound = errors.New("not found")

// fetch downloads the files into the cache and returns their folder.
func (r repo) fetch(ctx context.Context) (string, error) {
	first, err := r.get(ctx, tokenizerFile)
	if errors.Is(err, errNotFound) {
		return "", fmt.Errorf("%s has no such model, or it has no %s: %w", r.host(), tokenizerFile, err)
	}
	if err != nil {
		return "", err
	}
	files := []file{first}
	for _, name := range otherFiles {
		f, err := r.get(ctx, name)
		if errors.Is(err, errNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if f.commit != first.commit {
			return "", fmt.Errorf("%s changed while it was read; try again", r.host())
		}
		files = append(files, f)
	}
	return r.store(files)
}

// host returns the host of the endpoint, for messages: the URL could hold a credential.
func (r repo) host() string {
	u, err := url.Parse(r.endpoint())
	if err != nil || u.Host == "" {
		return "the hub"
	}
	return u.Host
}

// get downloads one file. The hub sends it or redirects to a store on another host, which
// must not see the token. The redirect then holds commit and etag.
func (r repo) get(ctx context.Context, name string) (file, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	hub, err := url.Parse(r.endpoint())
	if err != nil || hub.Host == "" || hub.Scheme != "http" && hub.Scheme != "https" {
		return file{}, errors.New("HF_ENDPOINT is not an http or https URL")
	}
	at := hub.JoinPath(r.name, "resolve", r.revision(), name)
	f := file{name: name}
	for range maxRedirects + 1 {
		next, err := r.step(ctx, hub, at, &f)
		if err != nil {
			return file{}, fmt.Errorf("%s from %s: %w", name, at.Host, err)
		}
		if next != nil {
			at = next
			continue
		}
		if !isName(f.commit) || !isName(f.etag) {
			return file{}, fmt.Errorf("%s from %s: the answer names no commit (X-Repo-Commit) or no content (ETag)", name, at.Host)
		}
		return f, nil
	}
	return file{}, fmt.Errorf("%s: more than %d redirects", name, maxRedirects)
}

// step sends one request. next is the target of a redirect, else nil.
func (r repo) step(ctx context.Context, hub, at *url.URL, f *file) (next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	if r.Token != "" && at.Scheme == hub.Scheme && at.Host == hub.Host {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	client := http.Client{}
	if r.Client != nil {
		client = *r.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		// The error's own text has the URL, which may be signed.
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if f.commit == "" {
		f.commit = resp.Header.Get("X-Repo-Commit")
	}
	if f.etag == "" {
		f.etag = resp.Header.Get("X-Linked-Etag")
	}
	switch {
	case resp.StatusCode/100 == 3:
		next, err := resp.Location()
		if err != nil {
			return nil, errors.New("a redirect without a valid Location header")
		}
		if next.Scheme != "https" && next.Scheme != at.Scheme {
			return nil, fmt.Errorf("a redirect to %s", next.Scheme)
		}
		return next, nil
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("%s; the model is private, gated, or does not exist: check the name, or set HF_TOKEN to a token that may read it", resp.Status)
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNotFound
	case resp.StatusCode != http.StatusOK:
		return nil, errors.New(resp.Status)
	}
	if f.etag == "" {
		f.etag = resp.Header.Get("ETag")
	}
	f.etag = strings.Trim(strings.TrimPrefix(f.etag, "W/"), `"`)
	f.data, err = io.ReadAll(io.LimitReader(resp.Body, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(f.data) > maxFileBytes {
		return nil, fmt.Errorf("larger than %d MB", maxFileBytes>>20)
	}
	return nil, nil
}

// isName reports whether s is safe as the name of a file in the cache: a commit or an
// etag.
func isName(s string) bool {
	return isRevision(s) && !strings.ContainsAny(s, "/\\") && len(s) <= 128
}
