package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

func TestServers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"edge: none", nil, nil},
		{"edge: one without a text", []string{""}, nil},
		{"one", []string{"a:1"}, []string{"a:1"}},
		{"repeated", []string{"a:1", "http://b/v1"}, []string{"a:1", "http://b/v1"}},
		{"a list", []string{"a:1, b:1,c:1"}, []string{"a:1", "b:1", "c:1"}},
		{"a list and another", []string{"a:1,b:1", "c:1"}, []string{"a:1", "b:1", "c:1"}},
		{"a comma in a password", []string{"http://me:s,t@a:1"}, []string{"http://me:s,t@a:1"}},
		{"a comma in a query", []string{"http://a:1/?x=1,2"}, []string{"http://a:1/?x=1,2"}},
		{"a simulated server's settings", []string{"sim://?itl=normal:5ms,1ms"}, []string{"sim://?itl=normal:5ms,1ms"}},
		{"edge: an empty one", []string{"a:1,"}, []string{"a:1", ""}},
	} {
		if got := splitURLs(tt.flags); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAddressOf(t *testing.T) {
	for in, want := range map[string]string{
		"a":                                 "a",
		"a:1":                               "a:1",
		"http://a:1/v1?x#y":                 "a:1",
		"https://me:p/w@a:1/v1":             "a:1",
		"grpcs://[::1]:8001":                "[::1]:8001",
		"a?x":                               "a",
		"https://me:p@x@host.test:443#frag": "host.test:443",
	} {
		if got := addressOf(in); got != want {
			t.Errorf("addressOf(%q) = %q, want %q", in, got, want)
		}
	}
	if got := hostOf("grpcs://[::1]:8001"); got != "::1" {
		t.Errorf("hostOf = %q, want ::1", got)
	}
}

func TestConnectionSettings(t *testing.T) {
	for _, tt := range []struct {
		args        string
		reuse       backend.Reuse
		connections int
	}{
		{"-m x", backend.Keep, 0},
		{"--service-kind openai", backend.Keep, 0},
		{"-m x -i grpc", backend.Prewarm, 0},
		{"-m x -i grpc --connection-reuse reuse", backend.Keep, 0},
		{"-m x --connection-reuse fresh", backend.Fresh, 0},
		{"-m x -i grpc --grpc-connections 3", backend.Prewarm, 3},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if s.Reuse != tt.reuse || s.GRPCConnections != tt.connections || len(s.notes)+len(s.warnings) > 0 {
			t.Errorf("%s: %v, %d connections, %q, %q; want %v, %d", tt.args, s.Reuse, s.GRPCConnections, s.notes, s.warnings, tt.reuse, tt.connections)
		}
	}
}

// Many connections that a level would open at the same instant are opened before it.
func TestPrewarmMany(t *testing.T) {
	const note = " connections are opened before the load, 1,000 a second (--connection-reuse reuse: each with its first request)"
	for _, tt := range []struct {
		args      string
		reuse     backend.Reuse
		perSecond float64
		note      string
	}{
		{"-m x --concurrency-range 128", backend.Keep, 0, ""},
		{"-m x --concurrency-range 1,129", backend.Prewarm, 1000, "129" + note},
		{"--service-kind openai -m a,b --concurrency-range 4000", backend.Prewarm, 1000, "4,000" + note},
		{"-m a,b --concurrency-range 4000", backend.Prewarm, 500, "4,000" + note},
		{"--service-kind openai --concurrency-range 4000 --request-count 1x --rank 1 --world-size 4 --barrier 127.0.0.1:7788", backend.Prewarm, 250, "4,000" + note},
		{"--service-kind openai --concurrency-range 4000 --connection-reuse reuse", backend.Keep, 0, ""},
		{"--service-kind openai --concurrency-range 4000 --connection-reuse fresh", backend.Fresh, 0, ""},
		{"-m x -i grpc --concurrency-range 4", backend.Prewarm, 1000, ""},
		{"-m x -i grpc --concurrency-range 4000 --grpc-connections 3", backend.Prewarm, 0, ""},
		// Their connections are opened over time.
		{"--service-kind openai --concurrency-range 4000 --ramp-up 30s", backend.Keep, 0, ""},
		{"--service-kind openai --request-rate-range 4000 --max-concurrency 4000", backend.Keep, 0, ""},
		// Other loads that begin with many requests at once.
		{"--service-kind openai --session-concurrency 200 --input-data x.jsonl", backend.Prewarm, 1000, "200" + note},
		{"--service-kind openai --streaming --periodic-concurrency-range 10:300:10", backend.Keep, 0, ""},
		{"--service-kind openai --streaming --periodic-concurrency-range 10:410:200", backend.Prewarm, 1000, "200" + note},
		{"--service-kind openai --auto-sweep", backend.Prewarm, 1000, "256" + note},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got := s.openPerSecond(); s.Reuse != tt.reuse || got != tt.perSecond {
			t.Errorf("%s: %v, %v connections a second; want %v, %v", tt.args, s.Reuse, got, tt.reuse, tt.perSecond)
		}
		if got := strings.Join(s.notes, "|"); got != tt.note {
			t.Errorf("%s: notes %q, want %q", tt.args, got, tt.note)
		}
	}
}

// A label makes no URL mean something else than it does without labels.
func TestCutLabel(t *testing.T) {
	for in, want := range map[string][2]string{
		"old=a:1":                  {"old", "a:1"},
		"v1.2_x-Y=a:1,b:1":         {"v1.2_x-Y", "a:1,b:1"},
		"old=http://a:1/v1":        {"old", "http://a:1/v1"},
		"old=http://a:1/?x=1":      {"old", "http://a:1/?x=1"},
		"old=http://me:s=t@a:1/v1": {"old", "http://me:s=t@a:1/v1"},
		"old=sim://?ttft=5ms":      {"old", "sim://?ttft=5ms"},
		"old=":                     {"old", ""},
		"":                         {},
		"a":                        {"", "a"},
		"a:1":                      {"", "a:1"},
		"a:1/?x=1":                 {"", "a:1/?x=1"},
		"a/x=1":                    {"", "a/x=1"},
		"a?x=1":                    {"", "a?x=1"},
		"[::1]:8000/?x=1":          {"", "[::1]:8000/?x=1"},
		"http://a:1/?x=1":          {"", "http://a:1/?x=1"},
		"sim://?ttft=5ms":          {"", "sim://?ttft=5ms"},
		"me:s=t@a:1":               {"", "me:s=t@a:1"},
		"me=x:secret@a:1":          {"", "me=x:secret@a:1"}, // user information
		"=a:1":                     {"", "=a:1"},
		"ä=a:1":                    {"", "ä=a:1"},
		"o d=a:1":                  {"", "o d=a:1"},
	} {
		label, rest, ok := cutLabel(in)
		if got := [2]string{label, rest}; got != want || ok != (want[0] != "") {
			t.Errorf("%q: %q, a label %v; want %q", in, got, ok, want)
		}
	}
}

func TestServersWithLabels(t *testing.T) {
	s, err := parse(t, "", "-m", "x", "-u", "old=a:1,b:1", "-u", "new=http://me:secret@c:1/?x=1", "-H", "A: b")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		label, url string
		urls, raw  []string
	}{
		{"old", "a:1", []string{"a:1", "b:1"}, []string{"a:1", "b:1"}},
		{"new", "http://[redacted]@c:1/?[redacted]", nil, []string{"http://me:secret@c:1/?x=1"}},
	} {
		c := s.forServer(i)
		if c.Label != want.label || c.URL != want.url || !slices.Equal(c.URLs, want.urls) || !slices.Equal(c.rawURLs, want.raw) || c.Transport != transportNetHTTP {
			t.Errorf("server %d: %s, %s, %q, %q over %s; want %+v", i, c.Label, c.URL, c.URLs, c.rawURLs, c.Transport, want)
		}
	}
	if got := s.allURLs(); len(got) != 3 {
		t.Errorf("all URLs: %q, want 3", got)
	}
}

// Each server has its own proxy, as if it were the only one.
func TestServersProxies(t *testing.T) {
	s, err := parse(t, "", "--service-kind", "openai", "-u", "old=a:1", "-u", "new=127.0.0.1:1", "--proxy", "http://p:1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Servers {
		if c := s.forServer(i); !slices.Equal(c.Proxies, []string{"http://p:1"}) || len(c.warnings) != 1 || c.Transport != "nethttp" {
			t.Errorf("server %d: proxies %q, warnings %q, transport %s", i, c.Proxies, c.warnings, c.Transport)
		}
	}
	if len(s.warnings) > 0 || s.proxy == nil {
		t.Errorf("warnings of all servers: %q; proxy %v", s.warnings, s.proxy != nil)
	}
}

func TestServersMistakes(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-u old=a:1", "-u old=…: one server needs no label"},
		{"-u old=a:1 -u b:1", "-u b:1 has no label and -u old=… has one"},
		{"-u me:secret@b:1 -u old=a:1", "-u [redacted]@b:1 has no label and -u old=… has one"},
		{"-u old=a:1 -u old=b:1", "-u old=…: the label is given twice"},
		{"-u old=a:1 -u old.x=b:1", "NAME.old.* would also mean the files of the other"},
		{"-u old.x=a:1 -u old=b:1", "NAME.old.* would also mean the files of the other"},
		{"-u old=a:1,new=b:1 -u c=d:1", "-u old=…: a label within a list; give new=… a -u of its own"},
		{"-u old= -u new=b:1", "-u old=: the server's URL is empty"},
		{"-u old=a:1, -u new=b:1", "-u: a server's URL is empty"},
		{"-u old=a:1,a:1 -u new=b:1", "-u a:1: given twice"},
		{"-u .old=a:1 -u new=b:1", "-u .old=…: the label must begin with a letter or a digit"},
		{"-u old=sim:// -u new=b:1", "-u sim://, -u b:1: a simulated server in this process is compared with another one only"},
		{"-u old=https://a -u new=b:1", "-u https://a, -u b:1: some with TLS and some without"},
		{"-u old=a -u new=b --interleave", "--interleave needs a --repeat of 2 or more: it changes the order of levels and servers"},
		{"-u old=a -u new=b --repeat 0", "--repeat 0: must be 1 to 1000"},
		{"-u old=a -u new=b --concurrency-range 1:8:1 --binary-search -l 3", "--binary-search and -u old=… exclude each other"},
		{"-u old=a -u new=b --auto-sweep", "--auto-sweep and -u old=… exclude each other"},
		{"-u parquet=a -u new=b --profile-export-file x", "with this label x would be x.parquet, of another format"},
	} {
		_, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(tt.args)...)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
}
