package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/aiperf"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/resultfile/guidellm"
	"github.com/pa-tools/pa/pkg/analyze/resultfile/infperf"
	"github.com/pa-tools/pa/pkg/export"
)

// A requestsFile is a result file that is written while the run is read.
type requestsFile struct {
	// leaves is what it does not hold.
	leaves string
	// ending is how its name has to end, "" for anyhow.
	ending string
	// beside returns the paths of the files that are written with it, for the
	// others of their tool to read.
	beside func(out string, run *export.Run) []string
	// write writes what it reads of r, and returns what the files beside hold,
	// by the names that beside gives them. The error of r is none of its own.
	write func(ctx context.Context, r export.Reader, cfg dialect.Config, out string, w io.Writer) (*requestsWritten, error)
}

// requestsWritten is what came of writing.
type requestsWritten struct {
	warnings []error
	beside   []besideFile
}

type besideFile struct {
	path string
	body report.Renderer
}

var requestsFiles = map[string]requestsFile{
	aiperfDialect:    {leaves: aiperf.Omits, ending: ".jsonl", beside: besideAIPerf, write: writeAIPerf},
	"guidellm":       {leaves: guidellm.Omits, ending: ".json", beside: besideNothing, write: writeGuideLLM},
	"inference-perf": {leaves: infperf.Omits, ending: ".json", beside: besideInfPerf, write: writeInfPerf},
}

// requestsNames are the names of requestsFiles in the order of help texts.
func requestsNames() []string { return []string{aiperfDialect, "guidellm", "inference-perf"} }

// besideAIPerf is where AIPerf puts its statistics: under a name of its own
// beside profile_export.jsonl, else under the same name.
func besideAIPerf(out string, _ *export.Run) []string {
	stem := strings.TrimSuffix(out, ".jsonl")
	if filepath.Base(stem) == "profile_export" {
		stem += "_aiperf"
	}
	return []string{stem + ".json"}
}

func writeAIPerf(ctx context.Context, r export.Reader, cfg dialect.Config, out string, w io.Writer) (*requestsWritten, error) {
	written := &requestsWritten{}
	if cfg.Tokenizer != nil {
		cfg.Tokenizer = dialect.Shared(cfg.Tokenizer)
	}
	var rep *aiperf.Report
	errs := dialect.Tee(r, []func(export.Reader) error{
		func(r export.Reader) (err error) {
			written.warnings, err = aiperf.WriteRecords(ctx, r, cfg, w)
			return err
		},
		func(r export.Reader) (err error) {
			rep, _ = aiperf.Analyze(ctx, r, cfg) // what is wrong, the records say too
			return nil
		},
	})
	if rep != nil && errs[0] == nil {
		written.warnings = append(written.warnings, rep.Warnings()...)
		written.beside = []besideFile{{besideAIPerf(out, r.Run())[0], rep.JSON}}
	}
	return written, errs[0]
}

func besideNothing(string, *export.Run) []string { return nil }

func writeGuideLLM(ctx context.Context, r export.Reader, cfg dialect.Config, _ string, w io.Writer) (_ *requestsWritten, err error) {
	if len(cfg.Args) > 0 {
		return nil, cmdline.Usagef("--arg: GuideLLM has no argument that matters here")
	}
	x := guidellm.NewWriter(r.Run())
	defer func() { err = errors.Join(err, x.Close()) }()
	if err := x.ReadAll(ctx, r); err != nil {
		return nil, err
	}
	return &requestsWritten{warnings: x.Warnings()}, x.Write(w)
}

// besideInfPerf returns the paths of the summaries: of all, and of each level.
func besideInfPerf(out string, run *export.Run) []string {
	paths := []string{infPerfPath(out, "summary_lifecycle_metrics.json")}
	for i := range run.Experiments {
		paths = append(paths, infPerfPath(out, infperf.StageName(i)))
	}
	return paths
}

// infPerfPath puts the prefix that the name of the requests has before that of a
// summary (storage.local_storage.report_file_prefix).
func infPerfPath(out, name string) string {
	const requests = "per_request_lifecycle_metrics.json"
	prefix, ok := strings.CutSuffix(filepath.Base(out), requests)
	if !ok {
		prefix = strings.TrimSuffix(filepath.Base(out), ".json") + "_"
	}
	return filepath.Join(filepath.Dir(out), prefix+name)
}

func writeInfPerf(ctx context.Context, r export.Reader, cfg dialect.Config, out string, w io.Writer) (*requestsWritten, error) {
	if len(cfg.Args) > 0 {
		return nil, cmdline.Usagef("--arg: inference-perf has no argument that matters here")
	}
	x := infperf.NewWriter(r.Run(), cfg, w)
	if err := x.WriteAll(ctx, r); err != nil {
		return nil, err
	}
	written := &requestsWritten{warnings: x.Warnings()}
	for _, s := range x.Summaries() {
		written.beside = append(written.beside, besideFile{infPerfPath(out, s.Name), s.Write})
	}
	return written, nil
}

// convertRequests writes a file of requests, and what belongs beside it. On
// standard output it is alone.
func convertRequests(c *cli.Context, name string, f *requestsFile, in, out string) error {
	if out != "-" && !strings.HasSuffix(out, f.ending) {
		return cmdline.Usagef("%s: what %s reads ends in %s; give such a name", out, name, f.ending)
	}
	return use(c, in, func(r export.Reader) error {
		cfg, err := dialectConfig(sayingsOf(c, name, r.Run(), nil), name)
		if err != nil {
			return err
		}
		if out != "-" {
			for _, path := range f.beside(out, r.Run()) {
				if same(in, path) {
					return cmdline.Usagef("%s is the input, and is what %s writes beside %s; give another name", path, name, out)
				}
				if err := checkOutput(path, c.Bool("overwrite")); err != nil {
					return err
				}
			}
		}
		checked := dialect.Checked(cfg.Tokenizer)
		if checked != nil {
			cfg.Tokenizer = checked
		}
		var written *requestsWritten
		body := func(w io.Writer) (err error) {
			b := bufio.NewWriterSize(w, 1<<16)
			if written, err = f.write(c.Context, r, cfg, out, b); err != nil {
				return err
			}
			if err := checked.Err(); err != nil {
				return err
			}
			return b.Flush()
		}
		if out == "-" {
			err = toStdout(c, body)
		} else {
			err = writeFile(out, c.Bool("overwrite"), body)
		}
		warnings(c, r)
		if err != nil {
			return errors.Join(said(in, err), named(in, r.Err()))
		}
		for _, w := range written.warnings {
			warnf(c, "%s: %s", in, sanitize.Text(w.Error()))
		}
		var problems []error
		if out != "-" {
			for _, b := range written.beside {
				problems = append(problems, writeFile(b.path, c.Bool("overwrite"), b.body))
			}
		}
		warnf(c, "%s: a result of %s does not hold %s", out, name, f.leaves)
		return errors.Join(append(slices.Clip(problems), r.Err(), leftOut(in, r, "not carried over"))...)
	})
}
