package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// outsideTexts is an export whose texts come from servers, data sets and other tools.
// Each § stands for such a text, also within a payload. Each ¶ stands for the same
// text: a name that the file refers to in several places.
const outsideTexts = `{"experiments":[{"experiment":{"mode":"§","value":1},"requests":[` +
	`{"timestamp":1000000,"request_inputs":{"payload":"{\"model\":\"§\",\"stream\":true}","§":"§"},"response_timestamps":[2000000,3000000],"response_outputs":[{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"§\"}}]}\n\n"},{"response":"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"§\"}}]}\n\n"}],` +
	`"pa":{"id":0,"model":"¶","server_id":"§","session_id":"§","sent_ns":1000100},"§":"§"},` +
	`{"timestamp":1100000,"response_timestamps":[2000000],"response_outputs":[{"response":"§"}],"pa":{"id":1,"model":"§","status":"http_error","code":500,"message":"§"}},` +
	`{"timestamp":1100000,"response_timestamps":[2000000],"response_outputs":[{"response":"§"}],"pa":{"id":2,"model":"§","status":"§","phase":"§","start_source":"§","sources":"§","reason":"§","§":1}},` +
	`{"timestamp":"§","response_timestamps":["§"],"pa":"§"}` +
	`],"window_boundaries":[0,900000000],"§":"§",` +
	`"pa":{"load":"§","measured":3,"warnings":["§","the client may be the limit: §"],"start_ns":1,"end_ns":900000000,"server_stats":{"protocol":"§","models":[{"name":"¶","version":"¶","platform":"ensemble","composing":[1]},{"name":"§","platform":"§"}],"errors":["§"],` +
	`"snapshots":[{"edge":"measure","start_ns":1,"end_ns":2,"stats":[{"name":"¶","version":"¶","inference_count":1,"execution_count":1}]},{"edge":"end","start_ns":800000000,"end_ns":800000001,"stats":[{"name":"¶","version":"¶","inference_count":9,"execution_count":9,"inference_stats":{"success":{"count":5,"ns":100},"queue":{"count":5,"ns":100}}}]}]}}},` +
	`{"experiment":{"mode":"§","value":"§"},"requests":[],"window_boundaries":[]}],` +
	`"version":"§","service_kind":"openai","endpoint":"§","§":"§","pa":{"schema":"§","tool":"§","args":["§","§"],"model":"§","models":["¶","§"],"url":"§","urls":["§","§"],"protocol":"§",` +
	`"dataset_sha256":"§","dataset":{"files":[{"name":"§","sha256":"§","layout":"§","rows":1,"entries":1}],"entries":1,"order":"§","tokenizer":{"name":"§","sha256":"§"}},"host":{"name":"§","os":"§","arch":"§","kernel":"§","cpus":1,"go_version":"§"},"start":"§","interrupted":"§","warnings":["§"],"repeat":{"label":"§","index":1,"of":2,"group":"§"},` +
	`"pauses":[{"start_ns":100,"end_ns":200,"duration_ns":100,"cause":"§"}],"import":{"format":"§","lacks":[{"part":"§","why":"§"},{"part":"gaps","why":"§"}],"results":[{"§":"§"}]},"analysis_hints":{"§":"§"},` +
	`"telemetry":[{"source":"¶","kind":"prometheus","host":"§","interval_ns":1000,"scrapes":3,"failed":1,"series":4,"bad_lines":1,"first_bad_line":1,"gone":1,"error":"§"},{"source":"§","kind":"§","scrapes":0,"failed":2,"series":0,"error":"§"}],` +
	`"calibration":{"schema":"§","tool":"§","services":[{"service":"§","transport":"§","recordings":[{"stamps":"§"}]}],"limits":["§"]},` +
	`"samples":[{"series":0,"source":"¶","name":"vllm:num_requests_running","type":"gauge","labels":{"model_name":"§","§":"§"}},{"series":1,"source":"§","name":"nv_gpu_utilization","type":"gauge","labels":{"gpu_uuid":"§"}},{"series":2,"source":"§","name":"§","type":"§","labels":{"§":"§"}},{"series":3,"source":"¶","name":"vllm:prompt_tokens_total","type":"counter","labels":{"engine":"§"}},` +
	`{"source":"¶","start_ns":1,"end_ns":2,"values":[[0,1],[1,0.5],[2,3],[3,1]]},{"source":"¶","start_ns":900000,"end_ns":900001,"values":[[0,2],[1,0.5],[2,3],[3,7]]},{"source":"¶","start_ns":899000000,"end_ns":900000000,"values":[[0,2],[1,0.5],[2,3],[3,9]]},{"source":"¶","start_ns":3,"end_ns":4,"error":"§"}]}}`

// hostileText is a text that would be a formula in a CSV file, color a terminal, begin a
// line of its own, turn a line around, and end a cell of Markdown.
func hostileText(place int) string {
	return fmt.Sprintf("=H%d\x1b[31m\nFORGED\u202e|Y<b>", place)
}

// withOutsideTexts returns outsideTexts with a hostile text in the places that are
// chosen, and a plain one in the others. The places of § count from 0; ¶ is place −1.
func withOutsideTexts(t *testing.T, hostile func(place int) bool) string {
	t.Helper()
	var b strings.Builder
	next := 0
	for _, r := range outsideTexts {
		place := -1
		switch r {
		default:
			b.WriteRune(r)
			continue
		case '§':
			place = next
			next++
		case '¶':
		}
		text := "plain"
		if hostile(place) {
			text = hostileText(place)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		inner := string(quoted[1 : len(quoted)-1])
		if strings.HasSuffix(b.String(), `\"`) { // within the JSON of a payload
			inner = strings.ReplaceAll(inner, `\`, `\\`)
		}
		b.WriteString(inner)
	}
	if !json.Valid([]byte(b.String())) {
		t.Fatalf("no JSON: %s", b.String())
	}
	return b.String()
}

// TestOutsideTexts gives every command files in which one text that comes from outside
// is hostile, or all are, and files with such a name. No output lets it through.
func TestOutsideTexts(t *testing.T) { // not parallel: it changes the working directory
	testenv.NoRace(t)
	t.Chdir(t.TempDir())
	write := func(name, content string) string {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	none := withOutsideTexts(t, func(int) bool { return false })
	all := withOutsideTexts(t, func(int) bool { return true })
	plain := write("plain.json", none)

	// A text in place of a number or of a known word is refused, or ignored, alone.
	places := strings.Count(outsideTexts, "§")
	for place := -1; place < places; place++ {
		file := write("run.json", withOutsideTexts(t, func(i int) bool { return i == place }))
		outsideOutputs(t, fmt.Sprintf("place %d", place), [][]string{
			{"report", "--format", "table", file},
			{"requests", "--format", "csv", file},
			{"validate", file},
		})
	}
	broken := write(hostileText(2)+".json", all[:len(all)/3])
	folder := hostileText(3)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, file := range []string{
		write("run.json", all),
		write(hostileText(0)+".json", none),
		broken,
		folder,
		hostileText(1) + ".json", // does not exist
	} {
		shown += outsideOutputs(t, "all places", [][]string{
			{"report", "--format", "table", "--all-warnings", file},
			{"report", "--format", "table", file, plain},
			{"report", "--format", "csv", "--windows", "20ms", file},
			{"report", "--format", "markdown", file, plain},
			{"report", "--format", "json", file},
			{"report", "--dialect", "perf_analyzer", file},
			{"report", "--dialect", "vllm", file},
			{"definitions", "--format", "table", file},
			{"definitions", "--format", "markdown", file},
			{"definitions", "--format", "json", file},
			{"requests", "--format", "table", file},
			{"requests", "--format", "csv", file},
			{"requests", "--format", "jsonl", file},
			{"diff", "--format", "text", plain, file},
			{"diff", "--format", "markdown", file, plain},
			{"diff", "--format", "csv", plain, file},
			{"diff", "--format", "json", plain, file},
			{"validate", file},
		})
	}
	seen := 0
	for place := -1; place < places; place++ {
		if strings.Contains(shown, fmt.Sprintf(`=H%d\x1b[31m\nFORGED\u202e`, place)) {
			seen++
		}
	}
	if seen < 25 { // the others are not printed, or cut, or refused
		t.Errorf("%d texts are printed, want 25 or more: this test has lost its subject", seen)
	}
}

// outsideOutputs runs commands, holds their output to unsafeOutput, and returns it.
func outsideOutputs(t *testing.T, what string, commands [][]string) string {
	t.Helper()
	var all strings.Builder
	for _, args := range commands {
		format := "text"
		if len(args) > 2 && args[1] == "--format" {
			format = args[2]
		}
		res := exec(t, "", args...)
		for _, problem := range append(unsafeOutput("text", res.stderr), unsafeOutput(format, res.stdout)...) {
			t.Errorf("%s: pa-analyze %q: %s", what, args, problem)
		}
		all.WriteString(res.stdout + res.stderr)
	}
	return all.String()
}

// rawMarkdown is a part of hostileText that Markdown would not show as it is.
var rawMarkdown = regexp.MustCompile(`(^|[^\\])(\|Y|<b>)`)

// unsafeOutput returns what is wrong with an output of a format.
func unsafeOutput(format, out string) (problems []string) {
	for _, line := range strings.Split(out, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "FORGED"):
			problems = append(problems, "a text begins a line: "+strconv.Quote(line))
		case format == "markdown" && rawMarkdown.MatchString(line):
			problems = append(problems, "raw Markdown: "+strconv.Quote(line))
		}
		if format == "json" || format == "jsonl" {
			continue // a program reads it
		}
		if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }); i >= 0 {
			problems = append(problems, fmt.Sprintf("a character that does not print at %d: %q", i, line))
		}
	}
	switch format {
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil {
			return append(problems, err.Error())
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.HasPrefix(cell, "=") { // as hostileText does
					problems = append(problems, fmt.Sprintf("a cell that a spreadsheet would compute: %q", cell))
				}
			}
		}
	case "json", "jsonl":
		d := json.NewDecoder(bytes.NewReader([]byte(out)))
		for d.More() {
			var v any
			if err := d.Decode(&v); err != nil {
				return append(problems, err.Error())
			}
		}
	}
	return problems
}
