package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// Each endpoint that pa-record knows is in the tables of the pages that list endpoints, or has a reason not to be.
func TestEndpointTables(t *testing.T) {
	const noSimulator = "the simulator does not answer it"
	for _, page := range []struct {
		name   string
		absent map[string]string // usual paths, and why the page lacks them
	}{
		{"docs/reference/servers.md", nil},
		{"docs/reference/simulator.md", map[string]string{"v1/infer": noSimulator, "generate_stream": noSimulator}},
		{"docs/reference/endpoints.md", map[string]string{
			"v1/ranking": "its answers are as of v1/rerank", "v2/rerank": "the form of v1/rerank", "v1beta/models/NAME:generateContent": "the form of :streamGenerateContent",
			"v1/infer": "an answer of numbers as of pooling", "v1/realtime": "not HTTP; package realtime has its cases", "generate_stream": "the form of generate",
		}},
	} {
		var named []string
		for line := range strings.Lines(read(t, page.name)) {
			if strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "## ") {
				for i, code := range strings.Split(line, "`") {
					path, _, _ := strings.Cut(code, "?")
					if i%2 == 1 {
						named = append(named, path)
					}
				}
			}
		}
		for i, path := range render.UsualEndpoints() {
			suffix := render.Endpoints()[i]
			there := slices.ContainsFunc(named, func(n string) bool {
				return n == path || strings.HasSuffix(n, "/"+suffix) || strings.HasSuffix(n, suffix) && suffix[0] == ':'
			})
			if there == (page.absent[path] != "") {
				t.Errorf("%s: the endpoint %s must be in a table or a title, or have a reason to be absent in this test, and not both", page.name, path)
			}
		}
	}
}
