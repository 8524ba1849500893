package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
)

// A Dataset is a split of a dataset on the hub.
type Dataset struct {
	Name   string // name on the hub: org/name
	Config string // name of the subset
	Split  string
	// Files holds patterns (fs.Glob) for the files with the rows in a snapshot of the
	// repository. The first pattern that matches a file counts.
	Files []string
}

// CachedFiles returns the files of a dataset in the cache, sorted by name; nil if there are
// none.
func (c Config) CachedFiles(d Dataset) []string {
	dir := c.repo("datasets", d.Name).snapshot()
	if dir == "" {
		return nil
	}
	files := os.DirFS(dir)
	for _, pattern := range d.Files {
		all, _ := fs.Glob(files, pattern) // fails only for a malformed pattern
		var present []string
		for _, name := range all {
			if _, err := fs.Stat(files, name); err == nil { // otherwise a dangling link
				present = append(present, filepath.Join(dir, filepath.FromSlash(name)))
			}
		}
		if len(present) > 0 {
			return present
		}
	}
	return nil
}

// pageRows is the largest page of the datasets server.
const pageRows = 100

// DatasetServer returns the address of the datasets server: the hub's address, with
// "datasets-server." before the host for https.
func (c Config) DatasetServer() string {
	at := c.endpoint()
	if host, ok := strings.CutPrefix(at, "https://"); ok {
		at = "https://datasets-server." + host
	}
	return at
}

// FetchRows gets the first n rows of a dataset from the hub's datasets server, or all rows
// if there are fewer. It returns them in the server's format, which package dataset reads:
//
//	{"rows": [{"row_idx": 0, "row": {…}, "truncated_cells": []}, …]}
func (c Config) FetchRows(ctx context.Context, d Dataset, n int) ([]byte, error) {
	if c.Offline {
		return nil, fmt.Errorf("dataset %s: not in the cache %s: %w; unset it, or name a file of the dataset", d.Name, c.Cache, ErrOffline)
	}
	text := []byte(`{"rows": [`)
	for have := 0; have < n; {
		rows, err := c.fetchPage(ctx, d, have, min(n-have, pageRows))
		if err != nil {
			return nil, fmt.Errorf("dataset %s, rows from %d: %w", d.Name, have, err)
		}
		if len(rows) == 0 {
			break
		}
		for i, row := range rows {
			if have+i > 0 {
				text = append(text, ",\n"...)
			}
			text = append(text, row...)
		}
		if have += len(rows); len(text) > maxFileBytes {
			return nil, fmt.Errorf("dataset %s: %d rows are larger than %d MB; ask for fewer", d.Name, have, maxFileBytes>>20)
		}
	}
	return append(text, "]}\n"...), nil
}

// fetchPage gets length rows from offset on.
func (c Config) fetchPage(ctx context.Context, d Dataset, offset, length int) ([]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	at, err := url.Parse(c.DatasetServer())
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("HF_ENDPOINT is not an http or https URL")
	}
	at = at.JoinPath("rows")
	at.RawQuery = url.Values{
		"dataset": {d.Name}, "config": {d.Config}, "split": {d.Split},
		"offset": {strconv.Itoa(offset)}, "length": {strconv.Itoa(length)},
	}.Encode()
	status, body, err := c.ask(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a file of the dataset to do without this server", at.Host, err)
	}
	var page struct {
		Rows  []json.RawMessage `json:"rows"`
		Error string            `json:"error"`
	}
	if jerr := json.Unmarshal(body, &page); status == http.StatusOK && jerr != nil {
		return nil, fmt.Errorf("%s: the answer is not the JSON of a datasets server", at.Host)
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return nil, fmt.Errorf("%s: %d %s; set HF_TOKEN to a token that may read it", at.Host, status, clip(page.Error))
	case status != http.StatusOK || page.Error != "":
		return nil, fmt.Errorf("%s: %d %s", at.Host, status, clip(page.Error))
	case page.Rows == nil:
		return nil, fmt.Errorf(`%s: the answer has no "rows"`, at.Host)
	case len(page.Rows) > length:
		return nil, fmt.Errorf("%s: %d rows, where %d were asked for", at.Host, len(page.Rows), length)
	}
	for i, row := range page.Rows {
		page.Rows[i] = bytes.TrimSpace(row)
	}
	return page.Rows, nil
}

// ask sends one request. It follows redirects on the same host.
func (c Config) ask(ctx context.Context, at *url.URL) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, nil, errors.New("the URL is not valid")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := http.Client{}
	if c.Client != nil {
		client = *c.Client
	}
	client.CheckRedirect = func(to *http.Request, via []*http.Request) error {
		if to.URL.Host != at.Host || to.URL.Scheme != at.Scheme || len(via) > maxRedirects {
			return http.ErrUseLastResponse // another host must not see the token
		}
		return nil
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // the text of u holds the whole URL
			err = u.Err
		}
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxFileBytes+1))
	if err == nil && len(body) > maxFileBytes {
		err = fmt.Errorf("the answer is larger than %d MB", maxFileBytes>>20)
	}
	return resp.StatusCode, body, err
}

// clip bounds the text of a server in a message.
func clip(text string) string { return sanitize.Clip(text, 200) }
