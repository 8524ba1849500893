package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A made-up vulnerability of a function that the programs call.
const (
	modules = `[{"path":"github.com/klauspost/compress","vulns":[{"id":"GO-2026-9999","modified":"2026-01-01T00:00:00Z"}]}]`
	vulns   = `[{"id":"GO-2026-9999","modified":"2026-01-01T00:00:00Z"}]`
	entry   = `{"schema_version":"1.3.1","id":"GO-2026-9999","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",
"summary":"made up","details":"made up","database_specific":{"url":"https://example.test/GO-2026-9999","review_status":"REVIEWED"},
"affected":[{"package":{"name":"github.com/klauspost/compress","ecosystem":"Go"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
"ecosystem_specific":{"imports":[{"path":"github.com/klauspost/compress/zstd","symbols":["NewReader"]}]}}]}`
)

// make vulncheck uses the database that VULNDB names: it fails with the call of a vulnerable
// function, and passes with an empty database. The database is made up, because none can be reached
// from every machine.
func TestVulncheck(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"one":   {"index/modules.json": modules, "index/vulns.json": vulns, "ID/GO-2026-9999.json": entry},
		"empty": {"index/modules.json": "[]", "index/vulns.json": "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files["index/db.json"] = `{"modified":"2026-01-01T00:00:00Z"}`
			for file, content := range files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := exec.CommandContext(t.Context(), "make", "-C", "..", "vulncheck", "VULNDB=file://"+dir).CombinedOutput()
			if name == "empty" {
				if err != nil || !strings.Contains(string(out), "No vulnerabilities found.") {
					t.Errorf("%v\n%s", err, out)
				}
				return
			}
			if err == nil || !strings.Contains(string(out), "GO-2026-9999") || !strings.Contains(string(out), "calls zstd.NewReader") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
