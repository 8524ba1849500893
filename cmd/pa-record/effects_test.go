package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// inputKinds are the kinds of input of TestEveryFlag, by name. The values are flags; NAME@ is a
// file of files.
var inputKinds = map[string]string{
	"built-in":       "--service-kind openai",
	"text":           "--service-kind openai --input-data @prompts.txt",
	"prompt rows":    "--service-kind openai --input-data @rows.jsonl",
	"own lengths":    "--service-kind openai --input-data @lengths.jsonl",
	"whole requests": "--service-kind openai --input-data @requests.jsonl",
	"payloads":       "--service-kind openai --input-data @payloads.json",
	"mixed":          "--service-kind openai --input-data @mixed.jsonl",
	"made up":        "--service-kind openai --synthetic-input-tokens-mean 4 --num-dataset-entries 6",
	"images, audio":  "--service-kind openai --synthetic-input-tokens-mean 4 --num-dataset-entries 2 --image-width-mean 4 --image-height-mean 4 --audio-length-mean 0.01",
	"trace":          "--service-kind openai --input-data @trace.jsonl",
	"trace turns":    "--service-kind openai --input-data @turns.jsonl",
	"sessions":       "--service-kind openai --input-data @sessions.jsonl",
	"multi-turn":     "--service-kind openai --input-data @multi.jsonl",
	"sharegpt":       "--service-kind openai --input-data @share.json",
	"made sessions":  "--service-kind openai --num-sessions 2 --session-turns-mean 2 --session-turn-delay-mean 5 --synthetic-input-tokens 4",
	"agents":         "--service-kind openai --agents 2 --agent-profile chat-tools --agent-system-tokens 9 --agent-tasks 2 --agent-turns 2 --agent-answer-tokens 5",
	"one request":    "--service-kind openai --agents 2 --agent-profile chat-tools --agent-system-tokens 9 --agent-tasks 1 --agent-turns 1 --agent-answer-tokens 5",
	"template":       `--service-kind openai --input-data @prompts.txt --request-template {"q":"{{prompt}}"}`,
	"responses":      "--service-kind openai --endpoint v1/responses --input-data @prompts.txt",
	"embeddings":     "--service-kind openai --endpoint v1/embeddings --input-data @prompts.txt",
	"tensors":        "-m x --input-data @tensors.json",
	"random tensors": "-m x --input-data random",
	"zero tensors":   "-m x --input-data zero",
	"triton prompts": "-m x --backend vllm --input-data @prompts.txt",
}

// loadKinds are the load modes of TestEveryFlag.
var loadKinds = map[string]string{
	"default":      "",
	"concurrency":  "--concurrency-range 2",
	"sweep":        "--concurrency-range 1,3 --request-count 5",
	"constant":     "--request-rate-range 9",
	"poisson":      "--request-rate-range 9 --request-distribution poisson --duration 3s",
	"gamma":        "--request-rate-range 9 --burstiness 0.5 --measurement-mode count_windows",
	"intervals":    "--request-intervals @gaps.txt",
	"schedule":     "--fixed-schedule",
	"sessions":     "--session-concurrency 2",
	"session rate": "--session-rate 2",
	"periodic":     "--periodic-concurrency-range 1:3:1",
	"auto sweep":   "--auto-sweep",
	"sequence ids": "--request-rate-range 9 --num-of-sequences 3",
}

// flagValues are the flags of TestEveryFlag with a value that differs from the default.
var flagValues = []string{
	"--output-tokens-mean 6", "--osl 6", "--output-tokens 7", "--output-tokens none", "--output-tokens-mean 6 --output-tokens-stddev 2", "--output-tokens-stddev 2",
	"--output-tokens 6 --output-tokens-mean-deterministic", "--output-tokens-mean-deterministic", "--max-tokens-field max_completion_tokens",
	"--num-sessions 3", "--session-turns-mean 3", "--session-turns-stddev 1", "--session-turn-delay-mean 50", "--session-turn-delay-stddev 5", "--session-delay-ratio 3",
	"--agents 3", "--agent-profile deep-research", "--agent-groups 1 --agent-group-tokens 3", "--agent-groups 1", "--agent-system-tokens 8", "--agent-session-tokens 3", "--agent-tasks 3", "--agent-turns 3",
	"--agent-task-tokens 4", "--agent-tool-tokens 4", "--agent-answer-tokens 6", "--agent-tool-delay 7", "--agent-think-time 7", "--agent-subagents 1", "--agent-subagent-after 2", "--agent-subagent-turns 2",
	"--agent-subagent-tokens 5", "--agent-background 40%", "--agent-resets 0.9", "--agent-reset-keep 50%", "--agent-context 100", "--session-history live",
	"--session-delays none", "--session-delays think-only", "--session-delays start-to-start", "--session-delay-cap 1ms", "--session-idle-cap 1ms", "--session-start-ratio 0:1", "--session-start-ratio 0:1 --cache-pressure 1s",
	"--session-window refill", "--cache-bust first-turn-prefix", "--scenario agentx", "--scenario agentx --allow-dataset-wrap",
	"--synthetic-input-tokens 9", "--synthetic-input-tokens-mean 9", "--isl 9", "--synthetic-input-tokens-stddev 3", "--num-prefix-prompts 2", "--prefix-prompt-length 5", "--cache-salt x",
	"--prompt-ids 1:9", "--dataset sharegpt", "--dataset-sampling-strategy shuffle", "--dataset-sampling-strategy random", "--num-dataset-entries 1", "--num-dataset-entries 999", "--trace-window 0s:1ms", "--trace-rows whole", "--trace-rows new", "--block-tokens 20", "--session-history recorded",
	"--max-spool 99999", "--max-ratio 5", "--backend tensorrtllm", `--request-template {"x":"{{prompt}}"}`, "--include-usage=false", "--batch-size 2", "--batch-size-text 2",
	"--prompts restart", "--cache-bust", "--schedule unscaled", "--schedule scaled",
	"--image-width-mean 8 --image-height-mean 8", "--image-width-stddev 2", "--image-height-mean 9", "--image-height-stddev 2", "--image-format jpeg", "--image-content noise", "--batch-size-image 2",
	"--audio-length-mean 0.01", "--audio-length-stddev 0.01", "--audio-format wav", "--audio-depths 8", "--audio-sample-rates 8", "--audio-num-channels 2", "--batch-size-audio 2",
	"--shape I:4", "--string-length 5", "--string-data x", "--random-seed 7", "--streaming",
	`--extra-body {"stream":false}`, `--streaming --extra-body {"stream":false}`, `--extra-body {"top_k":1}`,
	"--concurrency-range 7", "--request-rate-range 7", "--request-rate-range inf", "--request-distribution poisson", "--request-distribution constant", "--burstiness 3", "--burstiness inf",
	"--latency-threshold 5", "--binary-search", "--request-intervals @gaps.txt", "--fixed-schedule", "--periodic-concurrency-range 1:5:2", "--request-period 3", "--session-concurrency 3", "--session-rate 3", "--sessions-as conversations",
	"--speed-up 2", "--max-concurrency 3", "--ramp-up 1s", "--max-threads 3", "--warmup-request-count 1", "--warmup-duration 1s", "--between-levels http://127.0.0.1:1/x", "--interleave",
	"--request-count 3", "--request-count all", "--duration 2s", "--measurement-mode count_windows", "--measurement-interval 777", "--measurement-request-count 7", "--stability-percentage 3", "--max-trials 4", "--stop-on-unstable", "--percentile 90",
	"--num-of-sequences 2", "--sequence-length 3", "--sequence-length-variation 5", "--sequence-id-range 5:9", "--serial-sequences",
	"--history-reasoning drop", "--slo ttft_p99<=20ms", "--auto-sweep", "-t 3", "-d", "-d -c 3", "-z",
}

// elsewhere are the flags of load, input and output that TestEveryFlag does not try, and why.
var elsewhere = map[string]string{
	"input-data": "the kinds of input", "data-directory": "--input-data under another name",
	"tokenizer": "the analysis counts with it, too", "default-tokenizer": "the analysis counts with it, too",
	"keep-media": "about the answers", "repeat": "the requests of a run stay", "warmup-runs": "the requests of a run stay", "grace-period": "about requests that do not end", "max-error-rate": "about requests that fail", "max-overflow-rate": "about requests that fail", "on-session-failure": "about requests that fail",
}

// TestEveryFlagIsTried finds flags that TestEveryFlag does not know.
func TestEveryFlagIsTried(t *testing.T) {
	t.Parallel()
	values := " " + strings.Join(flagValues, " ") + " "
	for _, f := range (&settings{}).flags() {
		group := f.(cli.CategorizableFlag).GetCategory()
		tried := slices.ContainsFunc(f.Names(), func(name string) bool {
			return elsewhere[name] != "" || strings.Contains(strings.ReplaceAll(values, "=", " "), " "+strings.Repeat("-", min(len(name), 2))+name+" ")
		})
		switch group {
		case "Connections", "Display", "Metrics of servers and GPUs", "Output", "Ranks of a run on several machines", "TLS", "Target", "Triton":
		default:
			if !tried {
				t.Errorf("%s, of %q: no command line of TestEveryFlag has it", f.Names()[0], group)
			}
		}
	}
}

// flagFiles holds the input data of TestEveryFlag.
var flagFiles = map[string]string{
	"prompts.txt":    "one\ntwo\nthree\nfour\nfive\nsix\n",
	"rows.jsonl":     `{"prompt":"a","id":1}` + "\n" + `{"prompt":"b","top_k":3}` + "\n" + `{"text":"c"}` + "\n" + `{"text":"d","output_tokens":4}` + "\n",
	"lengths.jsonl":  `{"prompt":"a","max_tokens":3}` + "\n" + `{"prompt":"b","max_completion_tokens":4}` + "\n",
	"requests.jsonl": `{"model":"m","messages":[{"role":"user","content":"a"}]}` + "\n" + `{"model":"m","messages":[{"role":"user","content":"b"}],"stream":false}` + "\n",
	"payloads.json":  `{"data":[{"payload":[{"model":"m","messages":[{"role":"user","content":"a"}]}]},{"payload":[{"model":"m","messages":[{"role":"user","content":"b"}]}]}]}`,
	"mixed.jsonl":    `{"prompt":"a"}` + "\n" + `{"model":"m","messages":[{"role":"user","content":"d"}],"max_completion_tokens":9}` + "\n",
	"trace.jsonl":    `{"timestamp":0,"input_length":8,"output_length":2,"hash_ids":[1]}` + "\n" + `{"timestamp":5,"input_length":9,"output_length":2,"hash_ids":[2]}` + "\n" + `{"timestamp":9,"input_length":9,"output_length":2,"hash_ids":[3]}` + "\n",
	"turns.jsonl":    `{"session_id":"s","input_length":20,"output_length":2,"hash_ids":[1]}` + "\n" + `{"session_id":"s","input_length":21,"output_length":2,"hash_ids":[1]}` + "\n",
	"sessions.jsonl": `{"session_id":"a","timestamp":0,"prompt":"t1","delay":3}` + "\n" + `{"session_id":"a","timestamp":6,"prompt":"t2"}` + "\n" + `{"session_id":"b","timestamp":3,"prompt":"u1"}` + "\n",
	"multi.jsonl":    `{"session_id":"a","turns":[{"text":"a"},{"text":"b","delay":5}]}` + "\n" + `{"session_id":"b","turns":[{"text":"c"}]}` + "\n",
	"share.json":     `[{"id":"q","conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"},{"from":"human","value":"c"}]},{"id":"r","conversations":[{"from":"human","value":"d"}]}]`,
	"tensors.json":   `{"data":[{"I":[1],"S":["x"]},{"I":[2],"S":["y"]}]}`,
	"gaps.txt":       "1000\n2000\n5000\n",
}

// TestEveryFlag prepares a run for each flag on each kind of input with each load, with and
// without the flag. Where requests, load and what ends the levels are the same, a note must name
// the flag, or an error refuse it.
func TestEveryFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range flagFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := func(parts ...string) []string {
		var args []string
		for _, field := range strings.Fields(strings.Join(parts, " ")) {
			if name, ok := strings.CutPrefix(field, "@"); ok {
				field = filepath.Join(dir, name)
			}
			args = append(args, field)
		}
		return args
	}
	tried, compared, refused, noted := 0, 0, 0, 0
	// The short form tries each flag on each input at least once: the stride and the number of
	// flags have no common divisor.
	stride := testenv.Stride(23)
	if testenv.Race { // one goroutine computes for long
		stride = 211
	}
	for _, in := range slices.Sorted(maps.Keys(inputKinds)) {
		for l, ld := range slices.Sorted(maps.Keys(loadKinds)) {
			inFlags, ldFlags := inputKinds[in], loadKinds[ld]
			base := prepareRequests(t, command(inFlags, ldFlags))
			if base.err != "" {
				continue // this load does not take this input, and says so
			}
			for i, flag := range flagValues {
				if (l*len(flagValues)+i)%stride != 0 {
					continue
				}
				name, _, _ := strings.Cut(flag[strings.LastIndex(" "+flag, " -"):], " ")
				name, _, _ = strings.Cut(name, "=")
				name = cmp.Or(map[string]string{"--osl": "--output-tokens-mean", "--isl": "--synthetic-input-tokens-mean"}[name], name)
				with := prepareRequests(t, command(inFlags, ldFlags, flag))
				tried++
				switch {
				case with.err != "":
					refused++
				case with.plan != base.plan:
					compared++
				case with.said[name]:
					noted++
				case with.notes != base.notes: // such as: there are only 3
					noted++
				case asBefore(flag, in, inFlags+" "+ldFlags):
				default:
					t.Errorf("%s, %s: %s changes nothing, and nothing says so", in, ld, flag)
				}
			}
		}
	}
	t.Logf("%d command lines: %d with an effect, %d refused, %d with a note", tried, compared, refused, noted)
	if least := 1000 / stride; compared < least || refused < least || noted < least {
		t.Error("too few command lines of a kind: the test does not compare what it should")
	}
}

// asBefore reports whether a flag asks for what is the case anyway, or bounds what needs no bound.
func asBefore(flag, input, others string) bool {
	switch {
	case slices.Contains(strings.Fields(others), strings.Fields(flag)[0]): // the same value again
		return true
	case flag == "--max-spool 99999", flag == "--max-ratio 5": // bounds of files that are smaller
		return true
	case flag == "--output-tokens none" && input != "built-in": // no request of made-up prompts and files without lengths has one
		return true
	case flag == "--request-distribution constant":
		return true
	case flag == "--block-tokens 20": // the prompts of the trace are shorter
		return true
	case strings.Contains(others, "--agents ") && (flag == "--session-history recorded" || flag == "--sessions-as conversations"): // as by default
		return true
	case input == "sharegpt" && flag == "--session-history live": // as by default
		return true
	case input == "trace turns" && flag == "--num-dataset-entries 1" && strings.Contains(others, "--session-"): // there is one session
		return true
	case flag == "--dataset sharegpt": // the layout that is detected
		return true
	case flag == "--burstiness inf": // constant, as by default
		return true
	case flag == "--schedule scaled": // the default
		return true
	case flag == "--prompts restart": // the only level begins with the first prompt
		return true
	case flag == `--extra-body {"stream":false}`:
		return true
	}
	return false
}

// A prepared is what a command line does.
type prepared struct {
	plan  string          // requests, load, measurement
	said  map[string]bool // flags that have no effect
	notes string
	err   string
}

// prepareRequests returns what a command line would do, without sending anything.
func prepareRequests(t *testing.T, args []string) (p prepared) {
	t.Helper()
	s := &settings{}
	app := cmdline.App{
		Name: "pa-record", Flags: s.flags(), Unsupported: unsupportedFlags, Bare: bareFlags(),
		Action: func(c *cli.Context) error {
			if err := s.read(c, func(string) string { return "" }, true); err != nil {
				return err
			}
			data, err := openData(t.Context(), s, func(string) string { return "" }, strings.NewReader(""))
			if err != nil {
				return err
			}
			defer data.close()
			if s.FixedSchedule {
				if data.Source, err = s.schedule(data.Source); err != nil {
					return err
				}
			}
			p.plan, err = planOf(s, data)
			p.notes = fmt.Sprint(s.notes, data.notes)
			p.said = map[string]bool{}
			for _, e := range s.withoutEffect {
				p.said[e.What] = true
			}
			return err
		},
	}
	var stderr strings.Builder
	if code := app.Run(t.Context(), append([]string{"pa-record"}, args...), strings.NewReader(""), io.Discard, &stderr); code != 0 {
		p.err = stderr.String()
		if p.err == "" {
			p.err = "no message"
		}
	}
	return p
}

// planOf describes the requests and the load of a run.
func planOf(s *settings, data *inputData) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%#v %+v %v %v %v %v %v %v\n", s.levels, s.Measure, s.Warmup, s.WarmupDuration, s.BetweenLevels, s.Search, s.AutoSweep, s.sequences(false))
	fmt.Fprintf(&b, "%v %v %v %v %v %v\n", s.Streaming, s.BatchSize, s.levelPlan != nil, s.MaxConcurrency, s.Prompts, s.HistoryReasoning)
	fmt.Fprintln(&b, s.starts, s.SessionWindow, s.CacheBust)
	if s.AutoSweep { // its levels are not known yet
		fmt.Fprintln(&b, s.Distribution, s.Burstiness, s.RampUp)
	}
	form, err := requestForm(s)
	if err != nil {
		return "", err
	}
	if all, ok := data.Source.(workload.Sessions); ok {
		for k := range 2 * all.Sessions() {
			one, err := all.Open(s.sendOrder.Index(k, all.Sessions()))
			if err != nil {
				return "", err
			}
			fmt.Fprintln(&b, one.ID, one.Agents, one.Nodes)
			for i := range one.Nodes {
				e, err := one.Entry(i)
				if err != nil {
					return "", err
				}
				f, err := form(&e)
				if err != nil {
					return "", err
				}
				fmt.Fprintln(&b, fieldTexts(f), e.Whole, e.Delay)
			}
		}
		return b.String(), nil
	}
	for i := range 2 * data.Len() {
		e, err := data.At(s.sendOrder.Index(i, data.Len()))
		if err != nil {
			return "", err
		}
		if e.Prompt == nil && s.ServiceKind == kindTriton { // what a model's backend makes of it
			fmt.Fprintf(&b, "%v %v %+v %v %v\n", fieldTexts(e.Values), e.Raw, e.Fill, e.Shapes, e.Delay)
			continue
		}
		f, err := form(&e)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, fieldTexts(f), e.Shapes, e.Session, e.Whole && s.conversations(), e.Delay, e.Offset)
	}
	return b.String(), nil
}

// fieldTexts returns names, kinds and values. Printed as they are, the values would be lists of numbers,
// which takes a third of the test's time.
func fieldTexts(all export.Fields) (texts []string) {
	for _, f := range all {
		texts = append(texts, f.Name, strconv.FormatBool(f.Value.Text), string(f.Value.Bytes()))
	}
	return texts
}
