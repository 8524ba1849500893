package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/pareto"
	"github.com/pa-tools/pa/pkg/analyze/plot"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// statedAt returns the figures of a file that holds figures and no requests; nil for every other file, also one that cannot be opened.
func (c *call) statedAt(path string) *stated.Result {
	s := new(stated.Error)
	if _, err := c.keepOpen(path); errors.As(err, &s) {
		return s.Result
	}
	return nil
}

// statedIn returns the figures of files that all hold figures and no requests; nil if the first does not. The error names a file that
// holds requests.
func (c *call) statedIn(paths []string) (all []*stated.Result, err error) {
	for _, path := range paths {
		s := c.statedAt(path)
		if s == nil && all == nil {
			return nil, nil
		}
		if s == nil {
			if _, err := c.keepOpen(path); err != nil {
				return nil, err
			}
			return nil, cmdline.Usagef("%s holds figures only, %s holds requests: report them in separate commands", paths[0], path)
		}
		all = append(all, s)
	}
	return all, nil
}

// reportStated writes the report of files of figures. Flags about requests are refused.
func (c *call) reportStated(all []*stated.Result) error {
	if err := c.refuseStated(all[0]); err != nil {
		return err
	}
	return c.write(stated.Report(all).In(c.String("format"), c.width()))
}

// refuseStated refuses flags that choose or measure requests, for a file of figures only.
func (c *call) refuseStated(s *stated.Result) error {
	f := cmp.Or(c.ownFlag(), c.given("experiment", "streaming", "tokenizer"))
	if f == "" {
		return nil
	}
	return cmdline.Usagef("--%s: %s holds figures only, and no requests that the flag could choose or measure; drop it", f, s.File)
}

// convertStated writes the figures of a file as JSON or CSV.
func (c *call) convertStated(s *stated.Result, out string) error {
	format := ""
	switch {
	case out == "-", strings.HasSuffix(out, ".json"):
		format = "json"
	case strings.HasSuffix(out, ".csv"):
		format = "csv"
	default:
		return cmdline.Usagef("%s: %s holds figures only; end the name in .json or .csv", out, s.File)
	}
	if err := c.checkPath(out); err != nil {
		return err
	}
	return c.writeTo(out, disk.Figures, stated.Report([]*stated.Result{s}).In(format, 0))
}

// diffStated compares two sides if at least one holds figures only; else done is false. From the requests of the other side it computes
// the figures of the tool that states them.
func (c *call) diffStated(s sides, o *diffOptions) (done bool, err error) {
	files := [2][]string{s.older, s.newer}
	var results [2]*stated.Result
	known := (*stated.Result)(nil)
	for i, paths := range files {
		if results[i] = c.statedAt(paths[0]); results[i] != nil {
			known = results[i]
		}
	}
	if known == nil {
		return false, nil
	}
	if len(s.older) > 1 || len(s.newer) > 1 {
		return true, cmdline.Usagef("%s holds figures only, and figures of several runs cannot be pooled; give one file a side", known.File)
	}
	if f := c.given("html", "primary", "exclude-run", "drop-first", "single-run", "margin", "explain"); f != "" {
		return true, cmdline.Usagef("--%s: %s holds figures only; drop it", f, known.File)
	}
	if f := c.ownFlag(); f != "" || results[0] != nil && results[1] != nil {
		if err := c.refuseStated(known); err != nil {
			return true, err
		}
	}
	for i := range results {
		if results[i] == nil {
			if results[i], err = c.figuresAs(files[i][0], known); err != nil {
				return true, err
			}
		}
	}
	res, err := stated.Compare(results[0], results[1], o.Pair)
	if err != nil {
		return true, err
	}
	if format := c.String("format"); format == "junit" {
		return true, cmdline.Usagef("--format junit: %s; give text, markdown, csv or json", stated.NoInterval)
	}
	err = c.write(res.Formats().In(c.String("format"), c.width()))
	if o.failOn != nil || o.require != nil {
		return true, c.inconclusive(o.inconclusiveCode, errors.Join(err, errors.New("no gate can tell: "+stated.NoInterval)))
	}
	return true, err
}

// figuresAs computes the figures of a run with requests by the definitions of a file of figures.
func (c *call) figuresAs(path string, like *stated.Result) (*stated.Result, error) {
	t := registry().Find(like.Dialect)
	if t == nil || t.New == nil {
		if s, err := tool.StatedFile(path); err != nil || s != nil && s.Definitions == like.Definitions { // the tool's own file
			return s, err
		}
		return nil, fmt.Errorf("%s states figures by the definitions of %s, which pa-analyze cannot compute from the requests of %s; compare two files with requests, or two of figures", like.File, like.Definitions, path)
	}
	var out bytes.Buffer
	var run *export.Run
	err := c.use(fileRecording(path), func(r export.Reader) error {
		return c.useMemory(analyze.ValueMemory(analyze.DefaultMemoryLimit)/2, func(memory *dialect.Memory) error {
			d := dialectReport{call: c, tool: t, run: fileRecording(path), format: "json", memory: memory, out: &out}
			run = r.Run()
			return d.write(r)
		})
	})
	if err != nil {
		return nil, err
	}
	s, err := tool.Stated(path, out.Bytes())
	if s == nil && err == nil {
		err = fmt.Errorf("%s: no figures by the definitions of %s", path, like.Definitions)
	}
	if err != nil {
		return nil, err
	}
	s.Release, s.Computed = "", true
	if l := &s.Levels[0]; l.Mode == "" && len(s.Levels) == 1 && len(run.Experiments) == 1 { // the tool's file takes the load from its command line
		l.Mode, l.Value = run.Experiments[0].Mode, run.Experiments[0].Value
	}
	if run.Meta != nil {
		s.Model = cmp.Or(s.Model, run.Meta.Model)
	}
	return s, nil
}

// onlyStated refuses flags that have no effect on figures only. allowed are the flags that have one, besides the flags of outputs.
func (c *call) onlyStated(s *stated.Result, allowed ...string) error {
	for _, name := range c.LocalFlagNames() {
		if !slices.Contains(append(allowed, "format", "f", "output", "o", "overwrite", "width", "max-value", "memory-limit", "max-spool", "max-ratio", "beside"), name) {
			return cmdline.Usagef("%s: %s holds figures only, and no requests that the flag could choose or measure; drop it", cmdline.Dashed(name), s.File)
		}
	}
	return nil
}

// statedPoints returns the figures of points that all hold figures and no requests; nil if the first does not. Each point is one file.
func (c *call) statedPoints(args []labeledFiles, byLoad bool, allowed ...string) (*stated.Trend, error) {
	var paths, labels []string
	for _, a := range args {
		for i, p := range a.files {
			label := a.label
			if label != "" && i > 0 { // files are not pooled
				label += fmt.Sprintf(" (%d)", i+1)
			}
			paths, labels = append(paths, p), append(labels, label)
		}
	}
	all, err := c.statedIn(paths)
	if all == nil || err != nil {
		return nil, err
	}
	if err := c.onlyStated(all[0], allowed...); err != nil {
		return nil, err
	}
	return stated.NewTrend(all, labels, byLoad)
}

// paretoStated returns the frontier of files of figures; nil if the first file holds requests.
func (c *call) paretoStated(paths []string, o pareto.Options, allowed ...string) (*pareto.Result, error) {
	all, err := c.statedIn(paths)
	if all == nil || err != nil {
		return nil, err
	}
	if err := c.onlyStated(all[0], append(allowed, "gpus", "reference")...); err != nil {
		return nil, err
	}
	gpus, err := gpusOf(c.String("gpus"), len(all))
	if err != nil {
		return nil, err
	}
	return pareto.Stated(all, gpus, o)
}

// plotStated draws files of figures; done is false if the first file holds requests.
func (c *call) plotStated(args drawnArguments, o plot.Options, rates pareto.Options) (done bool, err error) {
	points := args.points
	for _, p := range args.files.paths {
		points = append(points, labeledFiles{files: []string{p}})
	}
	if len(points) == 0 || c.statedAt(points[0].files[0]) == nil {
		return false, nil
	}
	switch args.chart.name {
	case "pareto":
		res, err := c.paretoStated(args.files.paths, rates)
		if err != nil {
			return true, err
		}
		return true, c.write(plot.Pareto(res, o).Write)
	case "sweep", "trend":
		t, err := c.statedPoints(points, args.chart.name == "sweep", "figure")
		if err != nil {
			return true, err
		}
		f, err := plot.Stated(t, args.chart.name == "trend", c.StringSlice("figure"), o)
		if err != nil {
			return true, err
		}
		return true, c.write(f.Write)
	}
	return true, cmdline.Usagef("%s: %s holds figures only; plot sweep, trend and pareto draw them", args.chart.name, points[0].files[0])
}

// definitionsStated prints the formulas of the tool that states the figures of a file.
func (c *call) definitionsStated(s *stated.Result) error {
	all, err := tool.Formulas(c.Context, s.Dialect)
	if err := errors.Join(c.onlyStated(s), named(s.File, err)); err != nil {
		return err
	}
	format := strings.Replace(c.String("format"), "table", "text", 1)
	return c.write(stated.Definitions(s, all).In(format, c.width()))
}
