package layout

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`(?m)^(?:require )?\s*([a-z][\w./-]*\.[\w./-]+/\S+) v(\S+)( // indirect)?$`)
	tool        = regexp.MustCompile(`(?m)^\s+(\S+/cmd/\S+|mvdan\.cc/\S+)$`)
	majorSuffix = regexp.MustCompile(`/v\d+$`)
	namedRow    = regexp.MustCompile("(?m)^\\| `([^`]+)`")
	versioned   = regexp.MustCompile("`([\\w./-]+)`\\s+(\\d[\\d.]*\\d)")
)

// docs/dependencies.md names each module that a go.mod file of the repository requires directly, and each developers'
// tool. Its rows and its versions are in these files.
func TestDependencies(t *testing.T) {
	content, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	direct, versions := map[string]bool{}, map[string][]string{}
	for _, file := range []string{"go.mod", "tools/go.mod", "tools/release/go.mod", "tools/site/go.mod"} {
		mod, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range requirement.FindAllStringSubmatch(string(mod), -1) {
			versions[m[1]] = append(versions[m[1]], m[2])
			if m[3] == "" {
				direct[m[1]] = true
			}
		}
		for _, m := range tool.FindAllStringSubmatch(string(mod), -1) {
			direct[path.Base(m[1])] = true
		}
	}
	if len(direct) < 30 || len(versions) < 100 {
		t.Fatalf("go.mod files with %d requirements, %d of them direct: were they read?", len(versions), len(direct))
	}
	for name := range direct {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/dependencies.md does not name %s", name)
		}
	}
	for _, m := range namedRow.FindAllStringSubmatch(page, -1) {
		if !direct[m[1]] {
			t.Errorf("docs/dependencies.md has a row of %s, which no go.mod file requires", m[1])
		}
	}
	for _, m := range versioned.FindAllStringSubmatch(page, -1) {
		found := false
		for module, all := range versions {
			name := majorSuffix.ReplaceAllString("/"+module, "")
			if !strings.HasSuffix("/"+module, "/"+m[1]) && !strings.HasSuffix(name, "/"+m[1]) {
				continue
			}
			for _, v := range all {
				found = found || v == m[2] || strings.HasPrefix(v, m[2]+".") || strings.HasPrefix(v, m[2]+"+")
			}
		}
		if !found {
			t.Errorf("docs/dependencies.md says %s %s, which is in no go.mod file", m[1], m[2])
		}
	}
}
