package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// releaseNames are the releases of perf_analyzer for help texts.
func releaseNames() string {
	all := perfanalyzer.Releases()
	return fmt.Sprintf("%s-%s to -%s, -latest", perfAnalyzer, all[0].Name, all[len(all)-1].Name)
}

// convertRelease writes profile_export.json as a release of perf_analyzer did;
// without a number, as the latest.
func convertRelease(c *cli.Context, name, number, in, out string) error {
	release := perfanalyzer.Latest()
	if number != "" {
		var ok bool
		if release, ok = perfanalyzer.Find(strings.TrimPrefix(number, "-")); !ok || number[0] != '-' {
			return cmdline.Usagef("--as %q: give one of %s", name, strings.Join(resultNames(), ", "))
		}
	}
	for _, flag := range flagNames(resultFlags()) {
		if flag != "as" && c.IsSet(flag) {
			return cmdline.Usagef("--%s: a file of perf_analyzer holds the whole run as it is; drop it", flag)
		}
	}
	if out != "-" {
		if err := checkOutput(out, c.Bool("overwrite")); err != nil {
			return err
		}
		if same(in, out) {
			return cmdline.Usagef("%s is both input and output; give another name", out)
		}
	}
	return use(c, in, func(r export.Reader) error {
		var lost []error
		body := func(w io.Writer) error {
			b := bufio.NewWriterSize(w, 1<<16)
			dst := profilejson.NewReleaseWriter(b, release.Minor(), r.Run())
			err := export.Copy(c.Context, dst, r)
			lost = dst.Warnings()
			return errors.Join(err, b.Flush())
		}
		var err error
		if out == "-" {
			err = toStdout(c, body)
		} else {
			err = writeFile(out, c.Bool("overwrite"), body)
		}
		warnings(c, r)
		for _, w := range lost {
			warnf(c, "%s: %s", in, sanitize.Text(w.Error()))
		}
		if err == nil && r.Run().Meta != nil {
			warnf(c, "%s: perf_analyzer's file does not hold what pa-record adds: ids, phases, times of connecting and sending, reads, calibration, telemetry", out)
		}
		return errors.Join(named(out, err), r.Err(), leftOut(in, r, "not carried over"))
	})
}
