package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

func TestNumbered(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		"x.json":                          "x.2.json",
		"x.json.gz":                       "x.2.json.gz",
		"x.json.zst":                      "x.2.json.zst",
		"X.JSON":                          "X.2.JSON",
		"x.parquet":                       "x.2.parquet",
		"x.arrow":                         "x.2.arrow",
		"x":                               "x.2",
		"x.out":                           "x.out.2", // JSON, as x.out is
		"x.1.json":                        "x.1.2.json",
		".json":                           ".json.2",
		"a.b/x":                           "a.b/x.2",
		filepath.Join(dir, "x.json"):      filepath.Join(dir, "x.2.json"),
		filepath.Join(dir, "no", "x.gz"):  filepath.Join(dir, "no", "x.2.gz"),
		dir:                               dir, // to be refused as it is
		"":                                "",
		"-":                               "-",
		os.DevNull:                        os.DevNull,
		filepath.Join(dir, "x.1.parquet"): filepath.Join(dir, "x.1.2.parquet"),
	} {
		if got := numberedPath(path, "2"); got != want {
			t.Errorf("numbered(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestPlan(t *testing.T) {
	type run struct {
		exports []string
		levels  []string
	}
	for _, tt := range []struct {
		name string
		args []string
		want []run
	}{
		{"once", nil, []run{{[]string{"profile_export.json"}, nil}}},
		{"once, asked for", []string{"--repeat", "1"}, []run{{[]string{"profile_export.1.json"}, nil}}},
		{"twice, two exports", []string{"--repeat", "2", "--profile-export-file", "a.json", "--profile-export-file", "b.parquet"}, []run{
			{[]string{"a.1.json", "b.1.parquet"}, nil}, {[]string{"a.2.json", "b.2.parquet"}, nil},
		}},
		{"several levels", []string{"--repeat", "2", "--concurrency-range", "4,1"}, []run{{[]string{"profile_export.1.json"}, nil}, {[]string{"profile_export.2.json"}, nil}}},
	} {
		s, err := parse(t, "", append([]string{"-m", "x"}, tt.args...)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		var got []run
		for _, r := range s.plannedRuns() {
			got = append(got, run{r.Exports, r.Levels})
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(run{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// Interleaved, each run has all levels, and the next has them backwards; the
// seed chooses the order.
func TestPlanInterleaved(t *testing.T) {
	orders := map[string][]plannedRun{}
	for _, seed := range []string{"1", "1 ", "2", "3", "4"} {
		s, err := parse(t, "", "-m", "x", "--repeat", "6", "--interleave", "--concurrency-range", "16,1,4,8", "--random-seed", seed[:1])
		if err != nil {
			t.Fatal(err)
		}
		orders[seed] = s.plannedRuns()
		for i, r := range s.plannedRuns() {
			if got := slices.Sorted(slices.Values(r.Levels)); !slices.Equal(got, []string{"concurrency 1", "concurrency 16", "concurrency 4", "concurrency 8"}) {
				t.Errorf("seed %s, run %d: levels %v", seed, i+1, r.Levels)
			}
			for j, index := range r.order {
				if s.levels[index].String() != r.Levels[j] {
					t.Errorf("seed %s, run %d: level %d is %s, order says %v", seed, i+1, j, r.Levels[j], s.levels[index])
				}
			}
			if i%2 == 1 {
				before := slices.Clone(s.plannedRuns()[i-1].Levels)
				slices.Reverse(before)
				if !slices.Equal(before, r.Levels) {
					t.Errorf("seed %s, run %d: levels %v, want the previous run's levels backwards, %v", seed, i+1, r.Levels, before)
				}
			}
		}
	}
	same := func(a, b string) bool {
		return slices.EqualFunc(orders[a], orders[b], func(x, y plannedRun) bool { return slices.Equal(x.Levels, y.Levels) })
	}
	if !same("1", "1 ") {
		t.Error("one seed gave two plans")
	}
	if same("1", "2") && same("1", "3") && same("1", "4") {
		t.Error("four seeds gave one plan")
	}
}

// With labels each server has the runs and the files; with --interleave they take turns,
// and run i of each server has the same order of levels.
func TestPlanServers(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // files of the runs
	}{
		{"", []string{"x.a.json", "x.b.json"}},
		{"--repeat 1", []string{"x.a.1.json", "x.b.1.json"}},
		{"--repeat 3", []string{"x.a.1.json", "x.a.2.json", "x.a.3.json", "x.b.1.json", "x.b.2.json", "x.b.3.json"}},
		{"--repeat 3 --interleave", []string{"x.a.1.json", "x.b.1.json", "x.b.2.json", "x.a.2.json", "x.a.3.json", "x.b.3.json"}},
		{"--repeat 2 --interleave --concurrency-range 1,2,4", []string{"x.a.1.json", "x.b.1.json", "x.b.2.json", "x.a.2.json"}},
		{"--repeat 2 --interleave --concurrency-range 1:4:1 -l 100", []string{"x.a.1.json", "x.b.1.json", "x.b.2.json", "x.a.2.json"}},
		{"-u c=h:3 --repeat 3 --interleave", []string{"x.a.1.json", "x.b.1.json", "x.c.1.json", "x.c.2.json", "x.b.2.json", "x.a.2.json", "x.b.3.json", "x.c.3.json", "x.a.3.json"}},
	} {
		args := append(strings.Fields("-m x -u a=h:1 -u b=h:2 --profile-export-file x.json"), strings.Fields(tt.args)...)
		s, err := parse(t, "", args...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		var got []string
		levels := map[int][]int{} // of the runs with that number
		for _, r := range s.plannedRuns() {
			got = append(got, r.Exports...)
			if r.Label != s.Servers[r.server].Label || r.total != max(s.Repeat, 1) {
				t.Errorf("%s: run %v is of server %s", tt.args, r.runIndex, r.Label)
			}
			if before, ok := levels[r.number]; ok && !slices.Equal(before, r.order) {
				t.Errorf("%s: %v has the levels in the order %v, the other server in %v", tt.args, r.runIndex, r.order, before)
			}
			levels[r.number] = r.order
			if several := strings.Contains(tt.args, "1,2,4"); several != (r.order != nil) {
				t.Errorf("%s: order of levels %v", tt.args, r.order)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}

func TestListed(t *testing.T) {
	levels := func(values ...int) (all []recorder.Level) {
		for _, n := range values {
			all = append(all, recorder.Level{Load: load.Concurrency{N: n}})
		}
		return all
	}
	for _, tt := range []struct {
		name  string
		order []int
		got   []recorder.Level
		want  []recorder.Level
	}{
		{"as listed", nil, levels(4, 1), levels(4, 1)},
		{"another order", []int{2, 0, 1}, levels(8, 4, 1), levels(4, 1, 8)},
		{"broken off", []int{2, 0, 1}, levels(8, 4), levels(4, 8)},
		{"nothing", []int{1, 0}, nil, nil},
	} {
		r := plannedRun{order: tt.order}
		if d := cmp.Diff(tt.want, r.listed(tt.got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// Warm-up runs come before the first run of their server; with --interleave before all runs, in
// turns.
func TestWarmupsBefore(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // by planned run
		note string
	}{
		{"", []string{""}, ""},
		{"--warmup-runs 0", []string{""}, ""},
		{"--warmup-runs 1", []string{"warm-up run 1 of 1"}, "--warmup-runs: 1 run before the recorded run, in no export"},
		{"--warmup-runs 2 --repeat 2", []string{"warm-up run 1 of 2; warm-up run 2 of 2", ""}, "--warmup-runs: 2 runs before the first recorded run, in no export"},
		{"--warmup-runs 1 --repeat 2 -u old=a -u new=b", []string{"old, warm-up run 1 of 1", "", "new, warm-up run 1 of 1", ""}, "--warmup-runs: 1 run of each server before its first recorded run, in no export"},
		{
			"--warmup-runs 2 --repeat 2 -u old=a -u new=b --interleave",
			[]string{"old, warm-up run 1 of 2; new, warm-up run 1 of 2; old, warm-up run 2 of 2; new, warm-up run 2 of 2", "", "", ""},
			"--warmup-runs: 2 runs of each server before the first recorded run, in no export",
		},
		{"--warmup-runs 1 --repeat 3 --interleave --concurrency-range 1,2", []string{"warm-up run 1 of 1", "", ""}, "--warmup-runs: 1 run before the first recorded run, in no export"},
	} {
		s, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(tt.args)...)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		var got []string
		for i := range s.plannedRuns() {
			var names []string
			for _, r := range s.warmupsBefore(i) {
				names = append(names, r.String())
				if r.Exports != nil || r.CSV != "" {
					t.Errorf("%s: %v has files: %+v", tt.args, r.runIndex, r)
				}
			}
			got = append(got, strings.Join(names, "; "))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, d)
		}
		if tt.note != "" != slices.ContainsFunc(s.notes, func(n string) bool { return strings.HasPrefix(n, "--warmup-runs") }) || tt.note != "" && !slices.Contains(s.notes, tt.note) {
			t.Errorf("%s: notes %q, want %q", tt.args, s.notes, tt.note)
		}
	}
	for args, want := range map[string]string{
		"--warmup-runs -1":   "--warmup-runs -1: must be 0 to 1000",
		"--warmup-runs 1001": "--warmup-runs 1001: must be 0 to 1000",
		"--warmup-runs 1 --binary-search --concurrency-range 1:8 --latency-threshold 10": "--warmup-runs and --binary-search exclude each other: every run would measure other levels; warm up with --warmup-request-count or --warmup-duration",
		"--warmup-runs 1 --auto-sweep --request-count 10":                                "--warmup-runs and --auto-sweep exclude each other",
		"--warmup-runs 1 --world-size 2 --rank 0 --start-at 2126-01-01T00:00:00Z":        "--warmup-runs and --start-at exclude each other",
	} {
		if _, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(args)...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// Ranks agree on their plan if only the names of their files differ, and disagree if a run does.
func TestCommonPlan(t *testing.T) {
	const base = "--request-count 4 --concurrency-range 2,4 --world-size 2 --barrier 127.0.0.1:7788 "
	const series = base + "--repeat 3 --interleave -f x.csv "
	for _, tt := range []struct {
		name, rank0, rank1 string
		same               bool
	}{
		{"one run", base, base, true},
		{"several runs", series, series, true},
		{"several runs, with the rank in the name", series + "--profile-export-file %r.json", series + "--profile-export-file %r.json", true},
		{"servers with labels", base + "-u a=h:1 -u b=h:2", base + "-u a=h:1 -u b=h:2", true},
		{"edge: one run that is numbered", base + "--repeat 1", base + "--repeat 1", true},
		{"another number of runs", base + "--repeat 3", base + "--repeat 4", false},
		{"one run and a series of one", base, base + "--repeat 1", false},
		{"other labels", base + "-u a=h:1 -u b=h:2", base + "-u a=h:1 -u c=h:2", false},
		{"another order of levels", series, strings.Replace(series, "--interleave", "", 1), false},
		{"another number of warm-up runs", series, series + "--warmup-runs 1", false},
		{"another seed", series + "--random-seed 1", series + "--random-seed 2", false},
		{"another name for all ranks", series, series + "--profile-export-file y.json", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := func(rank, args string) string {
				s, err := parse(t, "", strings.Fields("-m x "+args+" --rank "+rank)...)
				if err != nil {
					t.Fatal(err)
				}
				before := slices.Clone(s.Runs)
				text := string(s.commonPlan())
				if diff := cmp.Diff(before, s.Runs, cmp.AllowUnexported(plannedRun{}, runIndex{})); diff != "" {
					t.Errorf("the runs are changed (-before +after):\n%s", diff)
				}
				return text
			}
			zero, one := plan("0", tt.rank0), plan("1", tt.rank1)
			if (zero == one) != tt.same {
				t.Errorf("same: %v, want %v:\n%s\n%s", zero == one, tt.same, zero, one)
			}
		})
	}
}

func TestIndex(t *testing.T) {
	for _, tt := range []struct {
		of                                  runIndex
		text, prefix, title, short, inTable string
	}{
		{runIndex{"", 1, 1, false}, "run 1 of 1", "", "Run 1 of 1", "", "run: 1"},
		{runIndex{"", 2, 3, false}, "run 2 of 3", "run 2 of 3: ", "Run 2 of 3", "run 2/3", "run: 2"},
		{runIndex{"", 1, 2, true}, "warm-up run 1 of 2", "warm-up run 1 of 2: ", "Warm-up run 1 of 2", "warm-up run 1 of 2", "run: 1"},
		{runIndex{"old", 1, 1, true}, "old, warm-up run 1 of 1", "old, warm-up run 1 of 1: ", "old, warm-up run 1 of 1", "old, warm-up run 1 of 1", "server: old, run: 1"},
		{runIndex{"old", 1, 1, false}, "old", "old: ", "old", "old", "server: old, run: 1"},
		{runIndex{"old", 2, 3, false}, "old, run 2 of 3", "old, run 2 of 3: ", "old, run 2 of 3", "old 2/3", "server: old, run: 2"},
	} {
		if got := []string{tt.of.String(), tt.of.prefix(), tt.of.title(), tt.of.short(), tt.of.place()}; !slices.Equal(got, []string{tt.text, tt.prefix, tt.title, tt.short, tt.inTable}) {
			t.Errorf("%+v: %q", tt.of, got)
		}
	}
}
