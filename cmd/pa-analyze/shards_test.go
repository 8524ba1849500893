package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// The scripts of testdata/shards find a run of 4 ranks in s/, in several formats, and the whole
// run as whole.json. other/ has a run with another id and plan, strange/ impossible places,
// fast/ a run of machines whose clocks were not compared, and wide/ a run whose clocks agree
// within 60 ms. In copied/, renumbered/ and labeled/, rank 2 has a changed copy of rank 1's file,
// and apart/ has ranks of one machine with clocks 2 s apart.
func TestShardScripts(t *testing.T) {
	program.Scripts(t, testscript.Params{Dir: "testdata/shards", UpdateScripts: *update, Setup: func(env *testscript.Env) error {
		return writeShards(t, env.WorkDir)
	}})
}

func writeShards(t *testing.T, dir string) error {
	t.Helper()
	for _, name := range []string{"s", "other", "strange", "fast", "wide", "copied", "renumbered", "labeled", "apart"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	whole := memrun.RandomRun(rand.New(rand.NewPCG(1, 2)), 80, "8", "16")
	whole.Header.Meta.Warnings = []string{"the wall clock was set by 2 ms"}
	write := func(name string, r *memrun.Reader) { exporttest.Write(t, filepath.Join(dir, name), memrun.Again(r)) }
	write("whole.json", whole)
	ranks := memrun.Divide(whole, 4, 0, 3_000_000, -20, 77)
	for i, name := range []string{"0.json", "1.parquet", "2.arrow", "3.parquet"} {
		write(filepath.Join("s", name), ranks[i])
	}
	other := memrun.Divide(whole, 4)
	for _, r := range other {
		r.Header.Meta.Shard.Run, r.Header.Meta.Shard.PlanSHA256 = "r2", "p2"
	}
	write("other/0.json", other[0])
	write("other/1.json", other[1])
	other[0].Header.Meta.Shard.Run = "r1"
	write("other/plan.json", other[0])
	other[0].Header.Meta.Shard.Rank = 9
	write("strange/rank9.json", other[0])
	other[0].Header.Meta.Shard.WorldSize = -1
	write("strange/size.json", other[0])
	for i, r := range memrun.Divide(whole, 2) {
		m := r.Header.Meta.Shard
		m.OffsetBefore, m.OffsetAfter = nil, nil
		r.Header.Meta.Host = &export.HostMeta{Name: string(rune('a' + i)), OS: "linux", Arch: "amd64", CPUs: 2}
		write(filepath.Join("fast", string(rune('0'+i))+".json"), r)
	}
	for i, r := range memrun.Divide(whole, 2) {
		if o := r.Header.Meta.Shard.OffsetBefore; o != nil {
			o.OffsetNS, o.BoundNS = 0, 60_000_000
			r.Header.Meta.Shard.OffsetAfter = nil
		}
		write(filepath.Join("wide", string(rune('0'+i))+".json"), r)
	}
	for name, change := range map[string]func(q *export.Request){
		"copied":     func(q *export.Request) { q.Rank = 0 },
		"renumbered": func(q *export.Request) { q.Rank, q.ID = 0, q.ID+1_000_000 },
		"labeled":    func(*export.Request) {},
	} {
		parts := memrun.Divide(whole, 4)
		parts[2] = memrun.Divide(whole, 4)[1]
		parts[2].Header.Meta.Shard.Rank = 2
		for _, level := range parts[2].Requests {
			for i := range level {
				change(&level[i])
			}
		}
		for i, file := range []string{"0.json", "1.parquet", "2.parquet", "3.arrow"} {
			write(filepath.Join(name, file), parts[i])
		}
	}
	for i, r := range memrun.Divide(whole, 3, 0, 1e9, -1e9) {
		r.Header.Meta.Host = whole.Header.Meta.Host
		write(filepath.Join("apart", string(rune('0'+i))+".json"), r)
	}
	return nil
}

// Every command that reads shards refuses files of two ranks with the same requests, and a file
// whose requests are of another rank. It prints no figures.
func TestCopiedShards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := writeShards(t, dir); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, want string }{
		{"copied", `/1\.parquet and .*/2\.parquet hold the same requests, although they are of ranks 1 and 2: request \d+ is in both; one of them is a copy: give the file that each rank wrote`},
		{"renumbered", `/1\.parquet and .*/2\.parquet hold the same requests, although they are of ranks 1 and 2: all \d+ start at the same times; one of them is a copy`},
		{"labeled", `/2\.parquet: request \d+ says that rank 1 sent it, but pa\.shard says that the file is of rank 2; the file was changed: give the file that rank 2 wrote`},
	} {
		glob, out := filepath.Join(dir, tt.name, "*"), filepath.Join(dir, tt.name+".out.json")
		want := regexp.MustCompile(tt.want)
		for _, args := range [][]string{
			{"report", glob},
			{"report", "--format", "json", glob},
			{"report", "--dialect", "genai-perf-latest", "--experiment", "8", glob},
			{"report", "--windows", "50ms", glob},
			{"requests", glob},
			{"requests", "--sort", "ttft", glob},
			{"definitions", "--experiment", "8", glob},
			{"avg-first-token", glob},
			{"check", glob},
			{"diff", glob, filepath.Join(dir, "whole.json")},
			{"diff", filepath.Join(dir, "whole.json"), glob},
			{"trend", glob},
			{"html", glob, "-o", out},
			{"plot", "cdf", glob, "-o", out},
			{"pareto", glob},
			{"write", "--to", "pytorch-hud", glob},
			{"trace", glob, "-o", out},
			{"convert", glob, out},
			{"merge", glob, out},
		} {
			got := exec(t, "", args...)
			streams := tt.name == "renumbered" && len(args) == 2 && args[0] == "requests" // the times show it at the end
			if got.code != 1 || got.stdout != "" && !streams || len(want.FindAllString(got.stderr, -1)) != 1 {
				t.Errorf("%s: %v: exit code %d, want 1 and no figures: %s\n%s", tt.name, args, got.code, got.stderr, got.stdout)
			}
			if _, err := os.Lstat(out); err == nil {
				t.Errorf("%s: %v wrote %s", tt.name, args, out)
			}
		}
		if got := exec(t, "", "validate", glob); got.code != 1 || !want.MatchString(got.stdout) {
			t.Errorf("%s: validate: exit code %d: %s", tt.name, got.code, got.stdout)
		}
	}
	// A shard of the run beside itself is no copy with another rank.
	name := filepath.Join(dir, "s", "1.parquet")
	if got := exec(t, "", "validate", name, name); got.code != 0 {
		t.Errorf("validate of a file twice: %s", got.stdout)
	}
}

// FuzzDamagedShards merges three shards of which one is damaged, of another run, of the same
// rank, empty or without requests. The run is read to its end, for a report or for a merged
// file as the kind says, and errors name the shard. One of commandSeeds inputs runs the commands
// report and merge as well, which takes many times longer; without fuzzing, the seeds that are
// multiples of commandSeeds do.
func FuzzDamagedShards(f *testing.F) {
	for kind := range uint8(damageKinds) {
		for format := range uint8(4) {
			f.Add(kind, format, 1+uint64(format))             // a report
			f.Add(damageKinds+kind, format, 1+uint64(format)) // a merged file
			if damaged := kind == 0 || kind == 6; !damaged && format != kind%4 && !testenv.IsLong() {
				continue
			}
			f.Add(kind, format, commandSeeds*(uint64(kind)*77+uint64(format)))
		}
	}
	d := newDamagedShards(f)
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	f.Fuzz(func(t *testing.T, kind, format uint8, seed uint64) {
		name := "bad." + damagedFormats[int(format)%len(damagedFormats)]
		data, wrong := d.damage(kind%damageKinds, int(format)%len(damagedFormats), seed)
		d.read(t, name, data, kind/damageKinds%2 == 1, wrong)
		// A mutation often keeps the seed, so the choice also depends on what else it changes.
		sampled := rand.New(rand.NewPCG(seed, uint64(kind)<<8|uint64(format))).IntN(commandSeeds) == 0
		if fuzzing && !sampled || !fuzzing && seed%commandSeeds != 0 {
			return
		}
		bad := filepath.Join(d.dir, name)
		if err := os.WriteFile(bad, data, 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(slices.Clone(d.whole), bad)
		for _, command := range [][]string{append([]string{"report"}, args...), append(append([]string{"merge", "--overwrite"}, args...), filepath.Join(d.dir, "out.parquet"))} {
			got := exec(t, "", command...)
			switch {
			case got.code != 0 && got.code != 1 && got.code != 2:
				t.Errorf("%v: exit code %d: %s", command[0], got.code, got.stderr)
			case got.code != 0 && !strings.Contains(got.stdout+got.stderr, bad), wrong && got.code == 0: // a file whose place was damaged has a report of its own
				t.Errorf("%v, kind %d: exit code %d without the name of the shard: %s", command[0], kind%damageKinds, got.code, got.stderr)
			}
		}
	})
}

const (
	damageKinds  = 7
	commandSeeds = 512
)

// damagedFormats are the formats of the damaged shard.
var damagedFormats = []string{"json", "parquet", "arrow", "journal"}

// damagedShards makes damaged shards of rank 2 beside the shards of ranks 0 and 1.
type damagedShards struct {
	dir     string
	formats []export.Format // that can be read
	parts   []*memrun.Reader
	whole   []string // files of ranks 0 and 1
	// files has the shard of rank 2 by kind of damage and format, before bytes are damaged.
	files [damageKinds][][]byte
}

// newDamagedShards encodes all shards once, because encoding takes longer than the test itself.
func newDamagedShards(f *testing.F) *damagedShards {
	d := &damagedShards{dir: f.TempDir(), formats: formats.Readers()}
	all := func() []*memrun.Reader {
		return memrun.Divide(memrun.RandomRun(rand.New(rand.NewPCG(3, 4)), 6, "6", "12"), 3, 0, 500, -70)
	}
	d.parts = all()[:2]
	for i, p := range d.parts {
		d.whole = append(d.whole, filepath.Join(d.dir, []string{"0.json", "1.parquet"}[i]))
		exporttest.Write(f, d.whole[i], memrun.Again(p))
	}
	for kind := range d.files {
		x := all()[2]
		switch kind {
		case 1:
			x.Header.Meta.Shard.Run = "another"
		case 2:
			x.Header.Meta.Shard.Rank = 1
		case 3: // nothing was sent
			for i := range x.Requests {
				x.Requests[i] = nil
				x.Header.Experiments[i].Meta.Measured, x.Header.Experiments[i].WindowBoundaries = 0, nil
			}
		case 4: // no answer came
			for i := range x.Requests {
				for k := range x.Requests[i] {
					x.Requests[i][k].Responses = nil
				}
			}
		}
		for _, format := range damagedFormats {
			name := filepath.Join(d.dir, "rank2."+format)
			exporttest.Write(f, name, memrun.Again(x))
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			d.files[kind] = append(d.files[kind], data)
		}
	}
	return d
}

// damage returns a damaged shard. wrong says that the merge has an error, which names the shard.
func (d *damagedShards) damage(kind uint8, format int, seed uint64) (data []byte, wrong bool) {
	rng := rand.New(rand.NewPCG(seed, 9))
	data = d.files[kind][format]
	switch kind {
	case 0: // cut short
		return data[:rng.IntN(len(data)-1)], true // a newline at the end is no loss
	case 5:
		return nil, true
	case 6: // damaged somewhere, maybe where nobody looks
		data = bytes.Clone(data)
		for range 1 + rng.IntN(8) {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
	}
	return data, kind == 1 || kind == 2
}

// read reads the shards as report or merge does, and checks the error.
func (d *damagedShards) read(t *testing.T, bad string, data []byte, merged, wrong bool) {
	t.Helper()
	err := d.merge(t, bad, data, func(r export.Reader) error {
		if merged {
			return errors.Join(export.Copy(t.Context(), profilejson.NewWriter(new(bytes.Buffer)), r), r.Err())
		}
		rep, err := analyze.Run(t.Context(), r, analyze.Config{})
		return errors.Join(err, report.Table([]report.Input{{Name: "run", Report: rep}}, report.Options{})(io.Discard))
	})
	if err != nil && !strings.Contains(err.Error(), bad) || err == nil && wrong {
		t.Errorf("%s: the error does not name the shard: %v", bad, err)
	}
}

// merge gives the run of the shards to use, or the damaged file alone if it is no shard. All of
// them are in memory.
func (d *damagedShards) merge(t *testing.T, bad string, data []byte, use func(export.Reader) error) error {
	t.Helper()
	at := slices.IndexFunc(d.formats, func(f export.Format) bool { return f.Sniff(data) })
	if at < 0 || len(data) == 0 { // an Opener returns an error that names the file
		return errors.New(bad + ": not an export")
	}
	r, err := d.formats[at].Open(t.Context(), bad, bytes.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		return err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	// The commands name the input in errors about missing ranks, and in the report of a whole run.
	named := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s: %w", bad, err)
	}
	last := shards.Shard{Name: bad, Reader: r}
	if meta, err := shards.Of(last); err != nil {
		return err
	} else if meta == nil {
		return named(use(r))
	}
	m, err := shards.Merge([]shards.Shard{{Name: "0.json", Reader: memrun.Again(d.parts[0])}, {Name: "1.parquet", Reader: memrun.Again(d.parts[1])}, last})
	if err != nil {
		return err
	}
	if err := use(m); err != nil {
		return err
	}
	return named(m.Missing())
}

// The report over the shards is the report of the merged file, and of the run of one process.
func TestReportOfShards(t *testing.T) {
	dir := t.TempDir()
	if err := writeShards(t, dir); err != nil {
		t.Fatal(err)
	}
	glob := filepath.Join(dir, "s", "*")
	report := func(args ...string) map[string]any {
		got := exec(t, "", append([]string{"report", "--format", "json"}, args...)...)
		if got.code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, got.code, got.stderr)
		}
		var doc map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &doc); err != nil {
			t.Fatal(err)
		}
		run := doc["run"].(map[string]any)
		delete(run, "file")
		return doc
	}
	text := func(doc map[string]any, without ...string) string {
		for _, name := range without {
			delete(doc["run"].(map[string]any), name)
		}
		delete(doc, "warnings") // which name the ranks
		b, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	flagLists := [][]string{nil, {"--windows", "50ms"}, {"--token-source", "responses"}, {"--slo", "ttft<=20ms"}}
	var ofShards []string // the report of the shards with each list of flags
	for _, args := range flagLists {
		shards := report(append(args, glob)...)
		ofShards = append(ofShards, text(shards))
		if a, b := text(shards, "merged", "host"), text(report(append(args, filepath.Join(dir, "whole.json"))...), "host"); a != b {
			t.Errorf("%v: the report of the whole run differs", args)
		}
	}
	for _, name := range []string{"m.json", "m.parquet", "m.arrow", "m.json.zst"} {
		out := filepath.Join(dir, name)
		if got := exec(t, "", "merge", glob, out); got.code != 0 || got.stdout+got.stderr != "" {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, args := range flagLists {
			if merged := text(report(append(args, out)...)); merged != ofShards[i] {
				t.Errorf("%s %v: the reports differ", name, args)
			}
		}
		if got := exec(t, "", "validate", out); got.code != 0 {
			t.Errorf("%s: %s", name, got.stdout)
		}
	}
	// Other commands, too.
	for _, args := range [][]string{{"requests", "--format", "csv"}, {"requests", "--sort", "-ttft", "--format", "jsonl"}, {"definitions", "--experiment", "8"}, {"avg-first-token"}, {"report", "--dialect", "genai-perf-latest", "--experiment", "8"}} {
		a, b := exec(t, "", append(args, filepath.Join(dir, "m.json"))...), exec(t, "", append(args, glob)...)
		if a.code != 0 || a.code != b.code || strings.ReplaceAll(a.stdout, filepath.Join(dir, "m.json"), glob) != b.stdout {
			t.Errorf("%v: exit codes %d and %d, %s%s", args, a.code, b.code, a.stderr, b.stderr)
		}
	}
}
