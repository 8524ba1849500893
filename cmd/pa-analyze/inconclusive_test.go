package main

import (
	"bytes"
	"errors"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

func TestInconclusive(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{nil, 4, "x: noisy\nx: too few runs\n"},
		{[]string{"--inconclusive", "4"}, 4, "x: noisy\nx: too few runs\n"},
		{[]string{"--inconclusive", "FAIL"}, 3, "x: noisy\nx: too few runs\n"},
		{[]string{"--inconclusive", "pass"}, 0, "pa-analyze: warning: noisy\npa-analyze: warning: too few runs\n"},
		{[]string{"--inconclusive", "maybe"}, 2, "x: --inconclusive \"maybe\": give fail, pass or 4\nrun 'x --help' for usage\n"},
	} {
		var chosen int
		app := cmdline.App{Name: "x", Flags: []cli.Flag{inconclusiveFlag(&chosen)}, Action: func(line *cli.Context) error {
			c := &call{commandLine: line}
			if err := c.inconclusive(chosen, nil); err != nil {
				t.Errorf("no error becomes %v", err)
			}
			return c.inconclusive(chosen, errors.Join(errors.New("noisy"), errors.New("too few runs")))
		}}
		var stderr bytes.Buffer
		code := app.Run(t.Context(), append([]string{"x"}, tt.args...), nil, nil, &stderr)
		if code != tt.code || stderr.String() != tt.stderr {
			t.Errorf("%v: exit code %d, %q; want %d, %q", tt.args, code, stderr.String(), tt.code, tt.stderr)
		}
	}
}
