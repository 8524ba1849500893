package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// perfAnalyzerFlags are all flags of perf_analyzer's release 25.12.
const perfAnalyzerFlags = `
-m -x -v -p -s -r -l -t -c -d -b -i -a -H -u -f -z
--service-kind --endpoint --model-signature-name --bls-composing-models --version
--measurement-mode --measurement-interval --measurement-request-count --request-count --warmup-request-count
--stability-percentage --percentile --max-trials --latency-threshold
--concurrency-range --request-rate-range --request-distribution --request-intervals
--periodic-concurrency-range --request-period --fixed-schedule --session-concurrency
--request-parameter --binary-search --max-threads --enable-mpi
--num-of-sequences --sequence-length --sequence-length-variation --sequence-id-range --serial-sequences
--input-data --shape --string-data --string-length --shared-memory --output-shared-memory-size
--input-tensor-format --output-tensor-format --async --sync --streaming
--grpc-compression-algorithm --grpc-method
--ssl-grpc-use-ssl --ssl-grpc-root-certifications-file --ssl-grpc-private-key-file --ssl-grpc-certificate-chain-file
--ssl-https-verify-peer --ssl-https-verify-host --ssl-https-ca-certificates-file
--ssl-https-client-certificate-file --ssl-https-client-certificate-type
--ssl-https-private-key-file --ssl-https-private-key-type
--triton-server-directory --model-repository --collect-metrics --metrics-url --metrics-interval
--verbose-csv --profile-export-file --trace-level --trace-rate --trace-count --log-frequency --data-directory`

// migratingRows returns the rows of the tables of flags in
// docs/tools/perf_analyzer.md, cell by cell.
func migratingRows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/tools/perf_analyzer.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Flags\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		line, isRow := strings.CutPrefix(strings.TrimSpace(line), "|")
		if !isRow {
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSuffix(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	return rows
}

// backticked returns what stands in backticks in a cell.
func backticked(cell string) []string {
	var all []string
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, part)
		}
	}
	return all
}

// shellWords splits an example as a shell does, with single quotes.
func shellWords(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// Every flag of perf_analyzer is in the table once, and the program does with it
// what the table says.
func TestMigratingTable(t *testing.T) {
	var listed []string
	rows := migratingRows(t)
	t.Chdir(migratingFiles(t))
	for _, row := range rows {
		flags := backticked(row[0])
		if len(row) != 4 || len(flags) == 0 || !strings.HasPrefix(flags[0], "-") {
			continue
		}
		listed = append(listed, flags...)
		example := backticked(row[2])
		if len(example) != 1 || !slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(shellWords(example[0]), f) }) {
			t.Errorf("%s: the example %s does not show it", row[0], row[2])
			continue
		}
		args := shellWords(example[0])
		if !slices.Contains(args, "-m") {
			args = append([]string{"-m", "model"}, args...)
		}
		code, stdout, stderr := inProcess(t.Context(), t, append(args, "--dry-run")...)
		switch row[1] {
		case "same", "alias", "accepted":
			if code != 0 || stdout == "" {
				t.Errorf("%s: %v: exit code %d, standard output %q, standard error %q", row[0], args, code, stdout, stderr)
			}
		case "refused":
			if want := "is not supported: " + row[3] + "\n"; code != 2 || !strings.Contains(stderr, want) || row[3] == "" {
				t.Errorf("%s: %v: exit code %d, standard error %q, want %q", row[0], args, code, stderr, want)
			}
		default:
			t.Errorf("%s: %q is none of same, alias, accepted, refused", row[0], row[1])
		}
	}
	slices.Sort(listed)
	want := strings.Fields(perfAnalyzerFlags)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("the table lists\n%v, want\n%v", listed, want)
	}
}

// The kinds of servers that are out of scope are refused with the reason.
func TestMigratingKinds(t *testing.T) {
	found := 0
	for _, row := range migratingRows(t) {
		kind := backticked(row[0])
		if len(row) != 2 || len(kind) != 1 {
			continue
		}
		found++
		code, _, stderr := inProcess(t.Context(), t, "-m", "model", "--service-kind", kind[0], "--dry-run")
		if want := "--service-kind " + kind[0] + ": " + row[1] + "\n"; code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, standard error %q, want %q", kind[0], code, stderr, want)
		}
	}
	if found != len(unsupportedKinds) {
		t.Errorf("the table has %d kinds, want %d", found, len(unsupportedKinds))
	}
}

// migratingFiles returns a folder with the files that the examples name.
func migratingFiles(t *testing.T) string {
	t.Helper()
	certs := newTestCerts(t)
	if err := os.Mkdir(filepath.Join(certs.dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"gaps.txt": "1000\n2000\n", "requests.json": `{"data": [{"INPUT": [1], "timestamp": [20]}]}`, "folder/INPUT": "1",
	} {
		if err := os.WriteFile(filepath.Join(certs.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certs.dir
}
