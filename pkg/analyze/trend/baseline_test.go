package trend

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// write writes a file of a test, and its folders.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// accept makes a point of one file for each name.
func accept(t *testing.T, base, point string, names ...string) {
	t.Helper()
	runs := t.TempDir()
	var files []string
	for _, n := range names {
		files = append(files, write(t, n, runs, n))
	}
	if _, err := Accept(base, point, files, ""); err != nil {
		t.Fatal(err)
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runs := filepath.Join(dir, "runs")
	for _, name := range []string{"a/run.json", "b/run.json", "b/other.json"} {
		write(t, name, runs, name)
	}
	base := filepath.Join(dir, "base")
	if b, err := ReadBaseline(t.Context(), base, 0); err != nil || b.Points != nil || b.Lost != nil {
		t.Errorf("a directory that is not there: %v, %v", b, err)
	}
	for i, name := range []string{"2026-01-01T000000Z", "2026-01-02T000000Z-v2", "2026-01-03T000000Z"} {
		files := []string{filepath.Join(runs, "a/run.json"), filepath.Join(runs, "b/run.json")}[:1+i%2]
		noise := map[int]string{1: "the fan failed"}[i]
		if folder, err := Accept(base, name, files, noise); err != nil || folder != filepath.Join(base, name) {
			t.Fatal(folder, err)
		}
	}
	// The copies hold the same prompts and answers: who may read them stays.
	if st, err := os.Stat(filepath.Join(base, "2026-01-01T000000Z", "run.json")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the copy of a private file: %v, %v; want mode 0600", st, err)
	}
	// Neither twice, nor half of a point, nor what only looks like one.
	if _, err := Accept(base, "2026-01-01T000000Z", nil, ""); err == nil || !strings.Contains(err.Error(), "is accepted already") {
		t.Error(err)
	}
	if _, err := Accept(base, "2026-01-04T000000Z", []string{filepath.Join(runs, "a/run.json"), filepath.Join(runs, "none.json")}, ""); err == nil {
		t.Error("a file that is not there was accepted")
	}
	write(t, "a note", base, "README")
	b, err := ReadBaseline(t.Context(), base, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := &Baseline{Total: 3, Points: []AcceptedPoint{
		{Name: "2026-01-02T000000Z-v2", Noise: "the fan failed", Files: []string{filepath.Join(base, "2026-01-02T000000Z-v2/2-run.json"), filepath.Join(base, "2026-01-02T000000Z-v2/run.json")}},
		{Name: "2026-01-03T000000Z", Files: []string{filepath.Join(base, "2026-01-03T000000Z/run.json")}},
	}}
	if d := cmp.Diff(want, b); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	entries, err := os.ReadDir(base)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d entries, want 3 points and the note: %v", len(entries), entries)
	}
	text, err := os.ReadFile(filepath.Join(base, "2026-01-03T000000Z", ManifestName))
	if err != nil {
		t.Fatal(err)
	}
	// printf a/run.json | sha256sum
	if want := `{"schema":"pa-baseline/1","files":[{"name":"run.json","bytes":10,"sha256":"9032d89d707cc6b7c9ea950453315209cad08b30253757bd7fe5478758ac2df0"}]}`; compact(t, text) != want {
		t.Errorf("manifest %s, want %s", text, want)
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Names that a point cannot have are changed, and the files are still read.
func TestAcceptNames(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	accept(t, base, "2026-01-01T000000Z", ManifestName, ".hidden.json", "hidden.json", "3-hidden.json")
	b, err := ReadBaseline(t.Context(), base, 0)
	if err != nil || len(b.Points) != 1 || len(b.Points[0].Files) != 4 {
		t.Fatalf("%+v, %v", b, err)
	}
}

// A point whose files are not as they were accepted is lost, and the reason names the file.
func TestDamagedPoints(t *testing.T) {
	t.Parallel()
	const point = "2026-01-02T000000Z"
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, folder string)
		want   string // pattern of the error; "" if the point is used
	}{
		{"as accepted", func(*testing.T, string) {}, ""},
		{"a hidden file", func(t *testing.T, f string) { write(t, "x", f, ".DS_Store") }, ""},
		{"changed", func(t *testing.T, f string) { write(t, "B.json", f, "b.json") }, `^b\.json was changed after it was accepted: it has 6 bytes with the SHA-256 [0-9a-f]{64}, and manifest\.json says 6 bytes with "[0-9a-f]{64}"$`},
		{"longer", func(t *testing.T, f string) { write(t, "b.json\n", f, "b.json") }, `^b\.json was changed .* it has 7 bytes`},
		{"gone", func(t *testing.T, f string) { remove(t, f, "b.json") }, `^b\.json is gone$`},
		{"all gone", func(t *testing.T, f string) { remove(t, f, "a.json"); remove(t, f, "b.json") }, `^a\.json is gone; b\.json is gone$`},
		{"no file at all", func(t *testing.T, f string) {
			for _, n := range []string{"a.json", "b.json", ManifestName} {
				remove(t, f, n)
			}
		}, `^it has no file$`},
		{"added", func(t *testing.T, f string) { write(t, "x", f, "c.json") }, `^c\.json was added after the point was accepted$`},
		{"a folder", func(t *testing.T, f string) { write(t, "x", f, "sub", "c.json") }, `^sub is a directory$`},
		{"a link to an accepted file", func(t *testing.T, f string) {
			if err := os.Rename(filepath.Join(f, "b.json"), filepath.Join(f, ".b.json")); err != nil {
				t.Fatal(err)
			}
			link(t, ".b.json", filepath.Join(f, "b.json"))
		}, `^b\.json is a symbolic link$`},
		{"a link that leads nowhere", func(t *testing.T, f string) { link(t, "nowhere", filepath.Join(f, "c.json")) }, `^c\.json is a symbolic link$`},
		{"the point is a link", func(t *testing.T, f string) {
			moved := filepath.Join(filepath.Dir(f), ".moved")
			if err := os.Rename(f, moved); err != nil {
				t.Fatal(err)
			}
			link(t, moved, f)
		}, `^it is a symbolic link, not a folder$`},
		{"the manifest is a link", func(t *testing.T, f string) {
			remove(t, f, ManifestName)
			link(t, "a.json", filepath.Join(f, ManifestName))
		}, `^manifest\.json is a symbolic link$`},
		{"a broken manifest", func(t *testing.T, f string) { write(t, `{"schema":`, f, ManifestName) }, `^manifest\.json is not a manifest: unexpected EOF$`},
		{"two manifests", func(t *testing.T, f string) {
			write(t, `{"schema":"pa-baseline/1","files":[{"name":"a.json"}]} {}`, f, ManifestName)
		}, `^manifest\.json is not a manifest: text follows its object$`},
		{"a manifest of a later release", func(t *testing.T, f string) { write(t, `{"schema":"pa-baseline/2"}`, f, ManifestName) }, `^manifest\.json has the schema "pa-baseline/2", and this program reads pa-baseline/1$`},
		{"a manifest without files", func(t *testing.T, f string) { write(t, `{"schema":"pa-baseline/1","files":[]}`, f, ManifestName) }, `^manifest\.json lists no file$`},
		{"a manifest that leaves the folder", func(t *testing.T, f string) {
			write(t, `{"schema":"pa-baseline/1","files":[{"name":"../x"}]}`, f, ManifestName)
		}, `^manifest\.json lists "\.\./x", which cannot name`},
		{"many files", func(t *testing.T, f string) {
			for _, n := range strings.Split("qrstuvwxyz", "") {
				write(t, n, f, n)
			}
		}, `^q was added .*; x was added after the point was accepted; and 2 more$`},
	} {
		base := t.TempDir()
		accept(t, base, "2026-01-01T000000Z", "a.json")
		accept(t, base, point, "a.json", "b.json")
		accept(t, base, "2026-01-03T000000Z", "c.json")
		tt.damage(t, filepath.Join(base, point))
		b, err := ReadBaseline(t.Context(), base, 2)
		if err != nil {
			t.Fatal(err)
		}
		// The damaged point still counts as one of the last 2.
		if tt.want == "" {
			if len(b.Points) != 2 || b.Lost != nil || b.Points[0].Unverified {
				t.Errorf("%s: %+v", tt.name, b)
			}
			continue
		}
		if len(b.Points) != 1 || len(b.Lost) != 1 || b.Lost[0].Label != point || !regexp.MustCompile(tt.want).MatchString(b.Lost[0].Reason) {
			t.Errorf("%s: lost %v, want %s", tt.name, b.Lost, tt.want)
		}
	}
}

func remove(t *testing.T, path ...string) {
	t.Helper()
	if err := os.Remove(filepath.Join(path...)); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		testenv.Lacks(t, "the right to make links: %v", err)
	}
}

// A point without a manifest is read, and marked.
func TestUnverified(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := write(t, "x", base, "2026-01-01T000000Z", "run.json")
	b, err := ReadBaseline(t.Context(), base, 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Baseline{Total: 1, Points: []AcceptedPoint{{Name: "2026-01-01T000000Z", Files: []string{path}, Unverified: true}}}, b); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A folder that holds no file, such as an archive of points, is no point and takes the place of none.
func TestOtherFolders(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	accept(t, base, "2026-01-01T000000Z", "a.json")
	accept(t, base, "2026-01-02T000000Z", "a.json")
	write(t, "x", base, "archive", "2025-01-01T000000Z", "run.json")
	own := write(t, "x", base, "night", "run.json")
	b, err := ReadBaseline(t.Context(), base, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Lost) > 0 || len(b.Points) != 2 || b.Points[0].Name != "2026-01-02T000000Z" || !cmp.Equal(b.Points[1].Files, []string{own}) {
		t.Errorf("%+v, want the last accepted point and the folder with a file", b)
	}
}

// The folder of a killed Accept is named, and removed by an Accept a day later.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	young, old := filepath.Join(base, ".accepting-1"), filepath.Join(base, ".accepting-2")
	write(t, "half", young, "run.json")
	write(t, "half", old, "run.json")
	then := time.Now().Add(-leftoverAge - time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{{young, old}, {young}} {
		b, err := ReadBaseline(t.Context(), base, 0)
		if err != nil || !cmp.Equal(b.Leftovers, want) || len(b.Points) > 0 && want[0] != young {
			t.Errorf("leftovers %v, %v, want %v", b, err, want)
		}
		if _, err := os.Stat(filepath.Join(base, "2026-01-01T000000Z")); err != nil {
			accept(t, base, "2026-01-01T000000Z", "run.json")
		}
	}
}

// Of several Accepts of a point at the same time one wins; the others say so in words, and leave
// nothing behind.
func TestConcurrentAccepts(t *testing.T) {
	t.Parallel()
	base, run := filepath.Join(t.TempDir(), "base"), write(t, "run", t.TempDir(), "run.json")
	var wait sync.WaitGroup
	errs := make([]error, 8)
	start := make(chan struct{})
	for i := range errs {
		wait.Go(func() {
			<-start
			_, errs[i] = Accept(base, "2026-01-01T000000Z", []string{run}, "")
		})
	}
	close(start)
	wait.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case strings.HasSuffix(err.Error(), "2026-01-01T000000Z is accepted already"), strings.Contains(err.Error(), "another process accepted this point while these runs were copied, so these runs were not added"):
		default:
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(base)
	if won != 1 || err != nil || len(entries) != 1 {
		t.Errorf("%d won; the directory has %v, %v", won, entries, err)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for want, label := range map[string]string{"2023-11-14T221320Z": "", "2023-11-14T221320Z-v1.2": "v1.2", "2023-11-14T221320Z-_.._a": "/../a"} {
		got := PointName(1_700_000_000_000_000_000, label)
		if got != want {
			t.Errorf("%q: %s, want %s", label, got, want)
		}
		if !pointFolder.MatchString(got) {
			t.Errorf("%s does not look like a point", got)
		}
	}
}
