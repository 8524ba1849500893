package frontend

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// A genaiPerfCase is what GenAI-Perf itself made of a command line; see
// testdata/genaiperf/generate.py.
type genaiPerfCase struct {
	Release      string
	Args         []string
	PerfAnalyzer []string `json:"perf_analyzer"`
	N            int
	Requests     []map[string]any
	Error        string
}

func genaiPerfCases(t testing.TB) []genaiPerfCase {
	t.Helper()
	f, err := os.Open("testdata/genaiperf/golden.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []genaiPerfCase
	for s := bufio.NewScanner(f); s.Scan(); {
		var c genaiPerfCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if len(all) < 118 {
		t.Fatalf("%d cases, want all of cases.txt", len(all))
	}
	return all
}

// parse is a command line of a release.
func (c *genaiPerfCase) parse() (*Command, error) {
	return GenAIPerf().Parse(append([]string{"--release", c.Release}, c.Args...))
}

// Every command line stands for the perf_analyzer command that the release ran.
func TestGenAIPerfCommand(t *testing.T) {
	for _, c := range genaiPerfCases(t) {
		t.Run(c.Release+" "+strings.Join(c.Args, " "), func(t *testing.T) {
			cmd, err := c.parse()
			if (err != nil) != (c.Error != "") {
				t.Fatalf("error %v, GenAI-Perf says %q", err, c.Error)
			}
			if err != nil {
				return
			}
			if i := slices.Index(c.PerfAnalyzer, "triton_c_api"); i >= 0 {
				// The engine is behind a server here.
				c.PerfAnalyzer[i] = kindTriton
				c.PerfAnalyzer = append(c.PerfAnalyzer, "-i", "grpc", "-u", grpcURL)
			}
			if diff := cmp.Diff(perfAnalyzer(c.PerfAnalyzer), perfAnalyzer(cmd.Args)); diff != "" {
				t.Errorf("perf_analyzer's flags (-GenAI-Perf +ours):\n%s", diff)
			}
		})
	}
}

// ours are flags of pa-record that take the place of perf_analyzer's --input-data,
// and the export's, which is put elsewhere.
var ours = []string{
	"--image-width-mean", "--image-width-stddev", "--image-height-mean", "--image-height-stddev", "--image-format", "--batch-size-image",
	"--audio-length-mean", "--audio-length-stddev", "--audio-format", "--audio-depths", "--audio-sample-rates", "--audio-num-channels", "--batch-size-audio",
	"--input-data", "--request-template", "--synthetic-input-tokens-mean", "--synthetic-input-tokens-stddev", "--num-dataset-entries",
	"--batch-size-text", "--random-seed", "--tokenizer", "--default-tokenizer", "--output-tokens-mean", "--output-tokens-stddev", "--analysis-hint", "--overwrite", "--artifact-dir",
	"--model-selection-strategy", "--prompts", "--num-sessions", "--session-turns-mean", "--session-turns-stddev", "--session-turn-delay-mean", "--session-turn-delay-stddev",
}

// perfAnalyzer returns the flags of a command that are perf_analyzer's, sorted.
func perfAnalyzer(args []string) []string {
	openAI, folder := slices.Contains(args, kindOpenAI), value(args, "--artifact-dir")
	var flags []string
	for i := 0; i < len(args); i++ {
		flag := args[i]
		if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			value := args[i]
			if f, err := strconv.ParseFloat(value, 64); err == nil {
				value = strconv.FormatFloat(f, 'g', -1, 64)
			}
			if flag == "--profile-export-file" {
				// 24.04 moves it there when perf_analyzer has ended.
				value = strings.TrimPrefix(path.Join(folder, value), "artifacts/data/")
			}
			flag += " " + value
		}
		name, _, _ := strings.Cut(flag, " ")
		if name == "-m" && slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-m ") }) {
			continue // perf_analyzer is told the first of several models
		}
		// Whether answers are streamed is in the requests of GenAI-Perf.
		if slices.Contains(ours, name) || openAI && flag == "--streaming" {
			continue
		}
		flags = append(flags, flag)
	}
	slices.Sort(flags)
	return flags
}

// Every command line sends the requests of the release, field for field.
func TestGenAIPerfRequests(t *testing.T) {
	n := 0
	for _, c := range genaiPerfCases(t) {
		if c.Error != "" {
			continue
		}
		n++
		t.Run(c.Release+" "+strings.Join(c.Args, " "), func(t *testing.T) {
			cmd, err := c.parse()
			if err != nil {
				t.Fatal(err)
			}
			want := c.Requests[0]
			if body, ok := want["payload"].([]any); ok {
				want = body[0].(map[string]any)
			} else {
				delete(want, "model") // which perf_analyzer passes over
			}
			if diff := cmp.Diff(want, filled(t, cmd, c.Release)); diff != "" {
				t.Errorf("request (-GenAI-Perf +ours):\n%s", diff)
			}
			if sessions := value(cmd.Args, "--num-sessions"); sessions == "" && value(cmd.Args, "--num-dataset-entries") != strconv.Itoa(c.N) {
				t.Errorf("--num-dataset-entries %s, want %d", value(cmd.Args, "--num-dataset-entries"), c.N)
			}
		})
	}
	if n < 40 {
		t.Errorf("%d command lines compared, want all that GenAI-Perf takes", n)
	}
}

// filled is the request that a command sends for prompts of the text PROMPT, which
// is one token of the number 6.
func filled(t *testing.T, cmd *Command, release string) map[string]any {
	t.Helper()
	tpl, err := render.ParseTemplate([]byte(value(cmd.Args, "--request-template")))
	if err != nil {
		t.Fatal(err)
	}
	const prompt = "PROMPT"
	p := &workload.Prompt{Text: prompt, MaxTokens: wholeOf(t, cmd, "--output-tokens-mean")}
	batch := max(1, wholeOf(t, cmd, "--batch-size-text"))
	if tpl.Uses(render.PlaceholderQuery) {
		batch++
	}
	p.More = slices.Repeat([]string{prompt}, batch-1)
	if format := value(cmd.Args, "--image-format"); format != "" {
		p.Media = slices.Repeat([]workload.Medium{{Kind: workload.Image, URL: "data:image/" + format + ";base64,IMAGE"}}, wholeOf(t, cmd, "--batch-size-image"))
	}
	if format := value(cmd.Args, "--audio-format"); format != "" {
		sound := workload.Medium{Kind: workload.Audio, URL: "data:audio/" + format + ";base64,SOUND"}
		p.Media = append(p.Media, slices.Repeat([]workload.Medium{sound}, wholeOf(t, cmd, "--batch-size-audio"))...)
	}
	js, err := render.Body(0, p, render.Options{
		Model: value(cmd.Args, "-m"), Template: tpl, Encode: func(string) []uint32 { return []uint32{6} },
	})
	if err != nil {
		t.Fatal(err)
	}
	text := string(js)
	if release == "24.03" {
		// The sentence in front of the prompt is a part of its text there.
		before, after, ok := strings.Cut(text, "Answer in about ")
		_, rest, _ := strings.Cut(after, `\n\n`)
		if text = before + rest; !ok {
			t.Errorf("no length is asked for in %s", js)
		}
	}
	var request map[string]any
	if err := json.Unmarshal([]byte(text), &request); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return request
}

// wholeOf returns the number that is the value of a flag, 0 if it is not there.
func wholeOf(t *testing.T, cmd *Command, flag string) int {
	t.Helper()
	text := value(cmd.Args, flag)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// value returns the value of a flag, "" if it is not there.
func value(args []string, flag string) string {
	for i, arg := range args[:max(0, len(args)-1)] {
		if arg == flag {
			return args[i+1]
		}
	}
	return ""
}

// Command lines that were recorded with the reports of testdata/golden/genai_perf
// stand for the perf_analyzer command that was seen there.
func TestGenAIPerfRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/genaiperf/pa_cmd.txt")
	if err != nil {
		t.Fatal(err)
	}
	var line string
	n := 0
	for l := range strings.Lines(string(text)) {
		want, ran := strings.CutPrefix(l, "  perf_analyzer ")
		if !ran {
			line = l
			continue
		}
		release, args, _ := strings.Cut(line, ": genai-perf ")
		if release == "main" {
			release = "latest"
		}
		n++
		cmd, err := GenAIPerf().Parse(append([]string{"--release", release}, strings.Fields(args)...))
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if diff := cmp.Diff(perfAnalyzer(strings.Fields(want)), perfAnalyzer(cmd.Args)); diff != "" {
			t.Errorf("%s: perf_analyzer's flags (-GenAI-Perf +ours):\n%s", args, diff)
		}
	}
	if n != 78 {
		t.Errorf("%d command lines, want 78", n)
	}
}
