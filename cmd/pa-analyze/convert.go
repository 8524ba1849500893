package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

func convertCommand() *cli.Command {
	return &cli.Command{
		Name: "convert", Usage: "write a run in another format", ArgsUsage: "IN OUT",
		Description: `Writes profile_export.json. The end of OUT's name says how: .json, .json.gz or
.json.zst; - is standard output, uncompressed. A file of perf_analyzer comes out
byte for byte. Of a file that breaks off all whole requests are written, and
requests that cannot be read are left out; the exit code is 1 then.`,
		Flags:  append([]cli.Flag{overwriteFlag()}, inputFlags()...),
		Action: convert,
	}
}

func convert(c *cli.Context) error {
	if c.NArg() != 2 {
		return cmdline.Usagef("%s given; pa-analyze convert takes IN and OUT", count(c.NArg(), "argument"))
	}
	in, out := c.Args().Get(0), c.Args().Get(1)
	pack, err := packer(out)
	if err != nil {
		return err
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
		body := func(w io.Writer) error {
			z, err := pack(w)
			if err != nil {
				return err
			}
			return errors.Join(rewrite(c.Context, r, z), z.Close())
		}
		var err error
		if out == "-" {
			b := bufio.NewWriterSize(c.App.Writer, 1<<16)
			err = errors.Join(body(b), b.Flush())
		} else {
			err = writeFile(out, c.Bool("overwrite"), body)
		}
		warnings(c, r)
		return errors.Join(named(out, err), r.Err(), leftOut(in, r, "not carried over"))
	})
}

// rewrite writes all of r that can be read; see r.Err() for the rest.
func rewrite(ctx context.Context, r export.Reader, dst io.Writer) error {
	w := profilejson.NewWriter(dst)
	run := r.Run()
	begun := 0 // experiments; the last of them is open
	advance := func(to int) error {
		for begun <= to {
			if begun > 0 {
				if err := w.EndExperiment(&run.Experiments[begun-1]); err != nil {
					return err
				}
			}
			if begun < len(run.Experiments) {
				e := &run.Experiments[begun]
				if err := w.BeginExperiment(e.Mode, e.Value); err != nil {
					return err
				}
			}
			begun++
		}
		return nil
	}
	for r.Next() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := advance(r.Experiment()); err != nil {
			return err
		}
		if err := w.WriteRequest(r.Request()); err != nil {
			return err
		}
	}
	if err := advance(len(run.Experiments)); err != nil {
		return err
	}
	return w.Close(run)
}

// packer returns what compresses into a file of that name.
func packer(name string) (func(io.Writer) (io.WriteCloser, error), error) {
	switch low := strings.ToLower(name); {
	case name == "-" || strings.HasSuffix(low, ".json"):
		return func(w io.Writer) (io.WriteCloser, error) { return unpacked{w}, nil }, nil
	case strings.HasSuffix(low, ".json.gz"):
		return func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }, nil
	case strings.HasSuffix(low, ".json.zst"):
		return func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }, nil
	}
	return nil, cmdline.Usagef("%s: cannot tell the format from the name; end it in .json, .json.gz or .json.zst", name)
}

// unpacked is a WriteCloser whose Close does nothing.
type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }

// same reports whether two paths name one file.
func same(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
