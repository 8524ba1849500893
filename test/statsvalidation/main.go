package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() { os.Exit(command(os.Args, os.Stdout, os.Stderr)) }

func command(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	s := &simulation{}
	flags.IntVar(&s.reps, "reps", fullReps, "repetitions of each cell")
	flags.IntVar(&s.every, "every", 1, "simulate one of so many cells of the tables of short runs and of several runs")
	titles := regexp.MustCompile("")
	flags.Func("tables", "regular expression: simulate the tables whose titles match", func(text string) (err error) {
		titles, err = regexp.Compile(text)
		return err
	})
	flags.Uint64Var(&s.seed, "seed", 1, "seed of the random numbers")
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if s.reps < 1 || s.every < 1 || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "statsvalidation: -reps and -every must be at least 1, and there are no arguments")
		return 2
	}
	broken, err := validate(s, titles, stdout)
	for _, b := range broken {
		fmt.Fprintln(stderr, "statsvalidation:", b)
	}
	if err != nil {
		fmt.Fprintln(stderr, "statsvalidation:", err)
	}
	if err != nil || len(broken) > 0 {
		return 1
	}
	return 0
}
