package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// validateCommand returns the command validate.
func validateCommand() *cli.Command {
	limit := &cli.IntFlag{Name: "limit", Usage: "print at most `N` violations of a file; 0 is no limit", Value: 100, Category: catOutput}
	return &cli.Command{
		Name: "validate", Usage: "check files against what every recorder promises", ArgsUsage: "FILE…",
		Description: `Checks that times do not go back, that requests lie inside their windows,
that no request is there twice, that counts agree, and that counters of servers
do not fall. Computes again the figures that a result file holds about its
requests, and the derived columns of a table, and compares them; columns that a
tokenizer counted need --tokenizer. Names the figures that cannot be compared.
Prints one line for each violation and for each file; exit code 1 when there is
a violation.`,
		Flags:  append([]cli.Flag{limit, tokenizerFlag()}, inputFlags()...),
		Action: action(allFiles, (*call).validate),
	}
}

// errViolations is the exit code of a file that is not as it should be; the
// violations have been printed.
var errViolations = &cmdline.CodeError{Code: cmdline.ExitError}

// validate prints what is wrong with the files, each by itself and the shards of a run together.
func (c *call) validate(files fileNames) error {
	tokens, err := c.tokens(answer.TokenAuto)
	if err != nil {
		return err
	}
	all, err := c.recordings(files, perFile)
	if err != nil {
		return err
	}
	violations := 0
	runs := map[string]*shardsOfRun{}
	errs := c.useEach(all, func(run recording, r export.Reader) error {
		cfg := check.ValidateConfig{Counter: tokens.Counter, Tokenizer: tokens.Tokenizer}
		cfg.Requests, cfg.File = requestsOf(runs, run.name, r)
		n, err := c.validateFile(run.name, cfg, r)
		violations += n
		return err
	})
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		run := runs[id]
		if run.requests.Err() != nil { // was found in a request
			continue
		}
		if err := run.requests.End(); err != nil {
			violations++
			_, writeErr := fmt.Fprintln(c.App.Writer, sanitize.Text(err.Error()))
			errs = append(errs, writeErr)
		}
	}
	if err := stated.NoChecks(errors.Join(errs...)); err != nil || violations == 0 {
		return err
	}
	return errViolations
}

// A shardsOfRun holds the shards of one run that were validated.
type shardsOfRun struct {
	ranks    map[int]bool
	requests shards.Requests
}

// requestsOf returns the requests that were seen in the run of a shard, and the index of the file in
// them. requests is nil if the file is no shard, or the second file of its rank.
func requestsOf(runs map[string]*shardsOfRun, path string, r export.Reader) (requests *shards.Requests, index int) {
	meta, err := shards.Of(shards.Shard{Name: path, Reader: r})
	if err != nil || meta == nil { // the commands that merge it return the error
		return nil, 0
	}
	run := runs[meta.Run]
	if run == nil {
		run = &shardsOfRun{ranks: map[int]bool{}}
		runs[meta.Run] = run
	}
	if run.ranks[meta.Rank] {
		return nil, 0
	}
	run.ranks[meta.Rank] = true
	return &run.requests, run.requests.File(path, meta.Rank)
}

// ownFigures says how many figures that a foreign file states follow from its requests, and names
// their kinds. It returns "" for a file that states none.
func ownFigures(c export.SelfCheck) string {
	switch {
	case c.Compared > 0:
		return fmt.Sprintf(", %d of the file's own %s %s (%s)", c.Compared-c.Differing, plural.Of(c.Compared, "figure"), plural.Form(c.Compared-c.Differing, "agrees", "agree"), strings.Join(c.Kinds, ", "))
	case len(c.NotCompared) > 0:
		return ", none of the file's own figures could be compared"
	}
	return ""
}

// validateFile prints the violations of a file and returns their number.
func (c *call) validateFile(path string, cfg check.ValidateConfig, r export.Reader) (violations int, err error) {
	printed, limit := 0, c.Int("limit")
	var writeErr error
	line := func(format string, args ...any) {
		if _, err := fmt.Fprintf(c.App.Writer, format+"\n", args...); err != nil && writeErr == nil {
			writeErr = err
		}
	}
	v, err := check.Validate(c.Context, r, cfg, func(v check.Violation) {
		if printed++; limit <= 0 || printed <= limit {
			line("%s: %s", sanitize.Text(path), sanitize.Text(v.String()))
		}
	})
	for _, w := range r.Warnings() {
		if !w.Note {
			v.Violations += w.Count
		}
		line("%s", sanitize.Text(w.String()))
	}
	if limit > 0 && printed > limit {
		line("%s: and %s", sanitize.Text(path), plural.Of(printed-limit, "more violation"))
	}
	verdict := "valid"
	switch {
	case err != nil:
		verdict = fmt.Sprintf("cannot be read to its end, %s before", plural.Of(v.Violations, "violation"))
	case v.Violations > 0:
		verdict = plural.Of(v.Violations, "violation")
	}
	own, _ := export.Checked(r)
	for _, not := range own.NotCompared {
		line("%s: not compared: %s", sanitize.Text(path), sanitize.Text(not))
	}
	line("%s: %s: %s, %s, %s%s", sanitize.Text(path), verdict, plural.Of(v.Experiments, "experiment"), plural.Of(v.Requests, "request"), plural.Of(v.Responses, "response"), ownFigures(own))
	if v.NotCompared != "" {
		c.warnf("%s: the derived columns were not compared: %s", path, v.NotCompared)
	}
	if v.NotUTF8 > 0 {
		c.warnf("%s: not UTF-8: %s; NVIDIA's scripts cannot read the file, pa-analyze can", path, plural.Of(v.NotUTF8, "text"))
	}
	if v.OutputsDropped > 0 {
		c.warnf("%s: the outputs of %s were dropped while recording, because the disk did not keep up", path, plural.Of(v.OutputsDropped, "request"))
	}
	return v.Violations, errors.Join(err, writeErr)
}
