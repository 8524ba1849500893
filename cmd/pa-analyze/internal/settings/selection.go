package settings

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
)

// SelectionFlags returns the flags that choose which part of each load level is analyzed.
func SelectionFlags() []cli.Flag {
	const category = "Selection"
	return []cli.Flag{
		&cli.StringFlag{Name: "window", Usage: "only requests that started `FROM:TO` after the start of their level: 30s:90s, 30s: or :90s", Category: category},
		&cli.StringFlag{Name: "trim-start", Usage: "leave out the first `PART` of each level: 10s or 5%", Category: category},
		&cli.StringFlag{Name: "trim-end", Usage: "leave out the last `PART` of each level: 10s or 5%", Category: category},
		&cli.BoolFlag{Name: "without-pauses", Usage: "leave out the requests that overlap a pause of pa-record (Ctrl-Z, a suspended machine), and the time of the pause", Category: category},
		&cli.BoolFlag{Name: "steady-state", Usage: "only the time between the first and the last moment with 95% of the concurrency in flight", Category: category},
	}
}

// selection reads the flags of SelectionFlags.
func selection(c *cli.Context) (s analyze.Selection, err error) {
	if text := c.String("window"); c.IsSet("window") {
		if s.Window, err = analyze.ParseInterval(text); err != nil {
			return s, cmdline.Usagef("--window %v", err)
		}
	}
	for _, t := range []struct {
		flag string
		to   *analyze.Trim
	}{{"trim-start", &s.TrimStart}, {"trim-end", &s.TrimEnd}} {
		if c.IsSet(t.flag) {
			if *t.to, err = analyze.ParseTrim(c.String(t.flag)); err != nil {
				return s, cmdline.Usagef("--%s %v", t.flag, err)
			}
		}
	}
	s.SteadyState, s.WithoutPauses = c.Bool("steady-state"), c.Bool("without-pauses")
	if err := s.Validate(); err != nil {
		return s, cmdline.Usagef("%v", err)
	}
	return s, nil
}

// Windows reads --windows.
func Windows(c *cli.Context) (analyze.Windows, error) {
	text := c.String("windows")
	switch {
	case !c.IsSet("windows"):
		return analyze.Windows{}, nil
	case text == "recorded":
		return analyze.Windows{Recorded: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return analyze.Windows{}, cmdline.Usagef("--windows %q: give a duration such as 10s, or recorded", text)
	}
	return analyze.Windows{Every: d}, nil
}

// share parses a share such as "99%" or "0.99". It must be above 0 and at most 1.
func share(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return 0, errors.New("give a share above 0 and at most 100%, such as 99% or 0.99")
	}
	return v, nil
}
