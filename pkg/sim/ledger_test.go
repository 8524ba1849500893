package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func indices(entries []Entry) []uint64 {
	var all []uint64
	for _, e := range entries {
		all = append(all, e.Index)
	}
	return all
}

func TestLedgerIsACopy(t *testing.T) {
	s := start(t, fast())
	if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","stream":true}`); err != nil {
		t.Fatal(err)
	}
	a, b := settled(t, s), settled(t, s)
	a[0].ID, a[0].Writes[0].SentNS = "changed", 0
	if d := cmp.Diff(b, s.Ledger()); d != "" {
		t.Errorf("a change of a copy changed the ledger:\n%s", d)
	}
}

func TestLedgerHashOnly(t *testing.T) {
	c := fast()
	c.LedgerHashOnly = true
	s := start(t, c)
	_, body, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x","max_tokens":2}`)
	if err != nil {
		t.Fatal(err)
	}
	e := last(t, s)
	if want := fmt.Sprintf("%x", sha256.Sum256(body)); len(e.Writes) != 1 || e.Writes[0].SHA256 != want || e.Writes[0].Data != nil || e.Writes[0].Bytes != len(body) {
		t.Errorf("writes %+v, want the hash %s", e.Writes, want)
	}
}

// The JSON lines of GET /ledger and of LedgerWriter are the entries.
func TestLedgerJSON(t *testing.T) {
	var out bytes.Buffer
	c := fast()
	c.LedgerWriter = &out
	s := start(t, c)
	for _, body := range []string{`{"prompt":"x","stream":true,"vocabulary":"tricky"}`, `{`} {
		if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", body); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(b []byte) []Entry {
		var all []Entry
		for line := range bytes.Lines(b) {
			var e Entry
			d := json.NewDecoder(bytes.NewReader(line))
			d.DisallowUnknownFields()
			if err := d.Decode(&e); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			all = append(all, e)
		}
		return all
	}
	for _, url := range []string{s.OpenAIURL(), s.TritonHTTPURL()} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ledger?wait=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(s.Ledger(), parse(b)); d != "" {
			t.Errorf("GET %s/ledger (-Ledger +JSON):\n%s", url, d)
		}
		for _, key := range []string{`"writes":[]`, `"received_ns":`, `"sent_ns":`, `"end":"ok"`, `"end":"error"`} {
			if !bytes.Contains(b, []byte(key)) {
				t.Errorf("%s is not in %s", key, b)
			}
		}
	}
	for _, tt := range []struct {
		since  string
		status int
		want   []uint64
	}{{"0", 200, []uint64{0, 1}}, {"1", 200, []uint64{1}}, {"2", 200, nil}, {"-1", 400, nil}} {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(s.OpenAIURL() + "/ledger?since=" + tt.since)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tt.status || tt.status == 200 && !slices.Equal(indices(parse(b)), tt.want) {
			t.Errorf("since %s: status %d, want %d; %s", tt.since, resp.StatusCode, tt.status, b)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.Ledger(), parse(out.Bytes())); d != "" {
		t.Errorf("LedgerWriter (-Ledger +JSON):\n%s", d)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestLedgerWriterFails(t *testing.T) {
	c := fast()
	c.LedgerWriter = brokenWriter{}
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"x"}`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call returns the same
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "ledger: disk full") {
			t.Errorf("Close() = %v", err)
		}
	}
}
