package docs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// programs is the folder of pa-record and pa-analyze, which TestMain builds.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withPrograms(m.Run))
}

// withPrograms builds the programs, and runs the tests.
func withPrograms(tests func() int) int {
	dir, err := os.MkdirTemp("", "pa-docs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	programs = dir
	// The go command keeps the result of a test as long as the files that it has seen
	// stay the same: it must see the sources of the programs.
	for _, sources := range []string{"../../cmd", "../../internal", "../../pkg"} {
		err = errors.Join(err, filepath.WalkDir(sources, func(file string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".go") {
				_, err = os.Stat(file)
			}
			return err
		}))
	}
	if err == nil {
		ldflags := "-s -w"
		if *update { // the pages show the version
			version, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output() // empty outside a repository
			ldflags += " -X main.version=" + strings.TrimSpace(string(version))
		}
		for _, program := range []string{"pa-record", "pa-analyze"} {
			// Linking takes seconds. go build links each time, but go run takes a program that
			// has not changed from the build cache. It runs "cp PROGRAM ARGUMENT" here. With a
			// version, each commit would change the program.
			build := exec.Command("go", "run", "-buildvcs=false", "-ldflags", ldflags, "-exec", "cp", "./cmd/"+program, filepath.Join(dir, program))
			build.Dir, build.Stderr = "../..", os.Stderr
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOGC=off") // little memory suffices without collections
			err = errors.Join(err, build.Run())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return tests()
}

// The blocks of every page run, and print what the page shows. make test runs the first
// two pages and the gallery.
func TestBlocks(t *testing.T) {
	t.Parallel()
	addresses, printed := startServer(t)
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"README.md", "docs/start.md", galleryPage}, name) && !*update {
				testenv.Long(t)
			}
			t.Parallel()
			text := read(t, name)
			r := runner{page: name, dir: t.TempDir(), addresses: addresses, printed: printed}
			var mended []string
			for _, b := range blocks(t, name, text) {
				mended = append(mended, r.block(t, b))
			}
			r.pictures(t, text)
			if name == galleryPage {
				r.gallery(t, text)
			}
			if *update {
				write(t, name, mend(text, mended))
			}
		})
	}
}

// picture is a picture of a page that is SVG.
var picture = regexp.MustCompile(`!\[[^\]]*\]\((images/([\w-]+\.svg))\)`)

// pictures compares the pictures of a page with the files of the same names that its blocks made.
func (r *runner) pictures(t *testing.T, text string) {
	t.Helper()
	for _, m := range picture.FindAllStringSubmatch(text, -1) {
		got, err := os.ReadFile(filepath.Join(r.dir, m[2]))
		if err != nil {
			t.Errorf("%s: no block makes the picture: %v", r.page, err)
			continue
		}
		kept := path.Join(path.Dir(r.page), m[1])
		if *update {
			write(t, kept, string(got))
		}
		if want := read(t, kept); string(got) != want {
			t.Errorf("%s: the blocks of %s make another picture; look at it, then run with -update", kept, r.page)
		}
	}
}

// gallery checks that the page shows a small picture of each HTML page that its blocks made, and keeps these pages if
// that was asked for. make test-browser compares the pictures with the pages.
func (r *runner) gallery(t *testing.T, text string) {
	t.Helper()
	made, err := filepath.Glob(filepath.Join(r.dir, "*.html"))
	if err != nil || len(made) == 0 {
		t.Fatalf("the blocks made %d HTML pages, %v", len(made), err)
	}
	for _, file := range made {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		if !strings.Contains(text, "](images/"+name+".png)") {
			t.Errorf("%s shows no picture images/%s.png", r.page, name)
		}
		if *gallery == "" {
			continue
		}
		content, err := os.ReadFile(file)
		if err := errors.Join(err, os.MkdirAll(*gallery, 0o755), os.WriteFile(filepath.Join(*gallery, filepath.Base(file)), content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// mend puts the bodies of all blocks of a page in their places.
func mend(text string, bodies []string) string {
	i := 0
	return fenced.ReplaceAllStringFunc(text, func(block string) string {
		first, _, _ := strings.Cut(block, "\n")
		i++
		return first + "\n" + bodies[i-1] + "```"
	})
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(golden.Root(t), filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// startServer starts a simulated server. It returns a replacer that puts the server's
// addresses in place of the addresses in the pages, and one that does the reverse.
func startServer(t *testing.T) (addresses, printed *strings.Replacer) {
	t.Helper()
	sim := exec.Command(filepath.Join(programs, "pa-record"), "sim", "--openai-addr", "127.0.0.1:0", "--triton-grpc-addr", "127.0.0.1:0", "--triton-http-addr", "127.0.0.1:0",
		"--model", "my-model", "--ttft", "20ms", "--itl", "2ms", "--output-tokens", "16", "--ledger-content", "none")
	stdout, err := sim.StdoutPipe()
	if err == nil {
		err = sim.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sim.Process.Signal(os.Interrupt)
		_ = sim.Wait()
	})
	var pairs, reverse []string
	lines := bufio.NewScanner(stdout)
	for _, port := range []string{"8000", "8001", "8080"} {
		if !lines.Scan() {
			t.Fatal("the simulated server does not say where it listens")
		}
		fields := strings.Split(lines.Text(), ":")
		address := "127.0.0.1:" + fields[len(fields)-1]
		pairs = append(pairs, "localhost:"+port, address)
		reverse = append(reverse, address, "localhost:"+port)
	}
	return strings.NewReplacer(pairs...), strings.NewReplacer(reverse...)
}

// A runner runs the blocks of a page, in turn.
type runner struct {
	page      string
	dir       string // the folder of the commands
	addresses *strings.Replacer
	printed   *strings.Replacer // the reverse, for outputs in the page
	exact     bool              // outputs are compared without masks
}

// block runs a block, and returns its body with the output of its commands.
func (r *runner) block(t *testing.T, b block) string {
	t.Helper()
	where := fmt.Sprintf("%s:%d", r.page, b.line)
	word, archive, _ := strings.Cut(b.marker, " ")
	if word == "files" {
		if err := os.CopyFS(r.dir, golden.FS(t, archive)); err != nil {
			t.Fatal(err)
		}
		r.exact = true
	}
	switch {
	case word == "skip":
	case b.language == "go":
		r.vet(t, where, b.body)
	case b.language == "sh":
		if _, stderr, code := r.bash(t, b.body, word == "parse"); code != 0 && (word != "parse" || code == 2) {
			t.Errorf("%s: exit code %d\n%s%s", where, code, b.body, stderr)
		}
	case b.language == "console":
		var body strings.Builder
		for _, c := range commands(b.body) {
			body.WriteString("$ " + c.text)
			stdout, stderr, code := r.bash(t, c.text, word == "parse")
			if want := c.exitCode(); strconv.Itoa(code) != want && (word != "parse" || code == 2) {
				t.Errorf("%s: exit code %d, want %s\n%s%s%s", where, code, want, c.text, stdout, stderr)
			}
			switch {
			case word == "parse" || strings.Contains(c.output, "…\n"):
				body.WriteString(c.output)
			default:
				body.WriteString(r.printed.Replace(stdout))
			}
			if word != "parse" && !*update && !r.same(c.output, stdout) {
				t.Errorf("%s: %s: the page (-) and the program (+) differ: %s\nprinted:\n%s%s", where, c.text, cmp.Diff(r.masked(c.output), r.masked(stdout)), stdout, stderr)
			}
		}
		return body.String()
	}
	return b.body
}

// parseOnly makes pa-record and pa-analyze check the command line and do no more:
// pa-analyze finds no file. Other commands do nothing.
const parseOnly = `
command_not_found_handle() { return 0; }
pa-record() { case " $* " in
	" genai-perf "*|" benchmark_serving "*|" llm_perf "*) case " $* " in *" -- "*) ;; *) set -- "$@" --;; esac;;
	esac; "$programs/pa-record" "$@" --dry-run >/dev/null; }
pa-analyze() {
	local said code=0
	said=$("$programs/pa-analyze" "$@" </dev/null 2>&1) || code=$?
	case $code,$said in 2,*"no file matches"*) ;; 2,*) echo "$said" >&2; return 2;; esac
}
PATH=/nowhere
`

// bash runs a script in the page's folder.
func (r *runner) bash(t *testing.T, script string, parse bool) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script = r.addresses.Replace(script)
	if parse {
		script = parseOnly + script
	}
	c := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", script)
	c.Dir = r.dir
	c.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + r.dir, "HF_HUB_OFFLINE=1", "programs=" + programs}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what runs in the background ends with it
	c.WaitDelay = time.Second
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Errorf("%s: %v", script, err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// vetOnce keeps the go command from working on two blocks at once.
var vetOnce sync.Mutex

// vet compiles a Go block and looks at it with go vet.
func (r *runner) vet(t *testing.T, where, body string) {
	t.Helper()
	vetOnce.Lock()
	defer vetOnce.Unlock()
	file := filepath.Join(t.TempDir(), "block.go")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", file)
	vet.Dir = golden.Root(t)
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", where, err, out)
	}
}

// masks replace text that a busy machine adds to an output, and text that differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^\d+ warnings? on standard error$`), ""},
	{regexp.MustCompile(`recorded by(\s+)pa-record \S+`), "recorded by pa-record V"},
	{regexp.MustCompile(`\b127\.0\.0\.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`, \d+ excluded \(late\)`), ""},
	{regexp.MustCompile(`client ok \([^)]*\)`), "client"},
	{regexp.MustCompile(`(?s)client \(pa-record\): .*?(\n\n|\n  SLO |\n*$)`), "client$1"},
	{regexp.MustCompile(`·\s+[\d.]+%\s+of\s+the\s+responses\s+arrived\s+with\s+the\s+previous\s+one`), ""},
	{regexp.MustCompile(regexp.QuoteMeta(export.TogetherCrowded)), export.TogetherUnknown},
	{regexp.MustCompile(`·\s+longest\s+garbage\s+collection\s+[\d.]+\s+\S+`), ""},
	{regexp.MustCompile(`;\s+[\d,]+\s+of\s+[\d,]+\s+tokens\s+arrived\s+together\s+with\s+the\s+previous\s+one`), ""},
	{regexp.MustCompile(`:\s+these\s+share\s+one\s+time,\s+that\s+of\s+the\s+last`), ""},
	{regexp.MustCompile(`[-+−<~]?\d[\d,.]*`), "0"},
	{regexp.MustCompile(`\b0\s?(ns|µs|ms|s|min)\b`), "0"},
	{regexp.MustCompile(`(?m)(^|\s)(ns|µs|ms|s|min)\b`), " T"}, // units of columns
	{regexp.MustCompile(`[─-╿]+`), "│"},                        // frames of tables
	{regexp.MustCompile(`\s+`), " "},
}

// masked returns an output without its numbers and without what the load of the
// machine changes.
func (r *runner) masked(output string) string {
	if r.exact {
		return output
	}
	for _, m := range masks {
		output = m.pattern.ReplaceAllString(output, m.with)
	}
	return strings.TrimSpace(output)
}

// ellipsis matches a line "…" and the space around it.
var ellipsis = regexp.MustCompile(`(?m)\s*…\s*`)

// same reports whether the program prints what the page shows. Lines "…" of the page
// stand for any lines.
func (r *runner) same(page, printed string) bool {
	page, printed = r.masked("\n"+r.addresses.Replace(page)), r.masked("\n"+printed)
	var pattern strings.Builder
	lines := `(?s:.*)`
	if r.exact { // a line before or after the lines left out is whole
		lines = `(?s:(?:\s*\n.*)?\s*(?:^|\n|$)\s*)`
	}
	for i, part := range ellipsis.Split(page, -1) {
		if i > 0 {
			pattern.WriteString(lines)
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(`^` + pattern.String() + `\s*$`).MatchString(printed)
}
