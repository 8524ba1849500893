package settings

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
		if got := servers(tt.flags); !slices.Equal(got, tt.want) {
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
		if got := AddressOf(in); got != want {
			t.Errorf("addressOf(%q) = %q, want %q", in, got, want)
		}
	}
	if got := HostOf("grpcs://[::1]:8001"); got != "::1" {
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
		if s.ReuseMode != tt.reuse || s.Reuse != tt.reuse.String() || s.GRPCConnections != tt.connections || len(s.Notes)+len(s.Warnings) > 0 {
			t.Errorf("%s: %v (%s), %d connections, %q, %q; want %v, %d", tt.args, s.ReuseMode, s.Reuse, s.GRPCConnections, s.Notes, s.Warnings, tt.reuse, tt.connections)
		}
	}
}

// A load that needs more open files than the limit allows gets a warning before the run.
func TestWarnOfFiles(t *testing.T) {
	for _, tt := range []struct {
		args  string
		limit uint64
		want  string
	}{
		{"-m x --concurrency-range 1,1000", 1032, ""},
		{"-m x --concurrency-range 1,1000", 1031, "1000 connections and what else is open need 1032 files, but the limit is 1031; raise it first: ulimit -n 1032"},
		{"-m x --concurrency-range 1000 -u a,b", 1031, "2000 connections and what else is open need 2032 files, but the limit is 1031; raise it first: ulimit -n 2032"},
		{"-m x -i grpc --grpc-connections 4 --concurrency-range 1000 -u a,b", 40, ""},
		{"-m x -i grpc --grpc-connections 4 --concurrency-range 2", 34, ""},
		{"-u sim:// --concurrency-range 1000", 2031, "2000 connections and what else is open need 2032 files, but the limit is 2031; raise it first: ulimit -n 2032"},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		s.WarnOfFiles(tt.limit)
		if got := strings.Join(s.Warnings, "|"); got != tt.want {
			t.Errorf("%s, limit %d: %q, want %q", tt.args, tt.limit, got, tt.want)
		}
	}
}
