//go:build unix

// Prompts holds the lengths of made-up prompts to the Hugging Face library.
//
//	go run ./test/tokenizers/prompts -python venv/bin/python [-n 10000] TOKENIZER…
//
// For each tokenizer it makes prompts of 1 024 ± 128 tokens with package synth, on
// one thread, prints the CPU time, and has the library count every one: each must
// have exactly the length that was drawn for it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

func main() {
	python := flag.String("python", "python3", "the `program` of a Python that has the library")
	n := flag.Int("n", 10_000, "prompts for each tokenizer")
	flag.Parse()
	for _, file := range flag.Args() {
		if err := check(*python, file, *n); err != nil {
			fmt.Fprintf(os.Stderr, "prompts: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// A prompt is a line for prompts.py.
type prompt struct {
	Tokens int    `json:"tokens"`
	Text   string `json:"text"`
}

func check(python, file string, n int) (err error) {
	runtime.GOMAXPROCS(1)
	tok, err := tokenizer.Load(file)
	if err != nil {
		return err
	}
	start := cpuTime()
	texts, err := synth.NewTexts(tok, builtin.Corpus(), 1, "")
	if err != nil {
		return err
	}
	prepared := cpuTime() - start
	law := synth.Normal{Mean: 1024, Stddev: 128}
	source, err := synth.New(synth.Config{Texts: texts, Seed: 1, Input: law, Prompts: n})
	if err != nil {
		return err
	}
	start = cpuTime()
	all := make([]prompt, n)
	bytes := 0
	for k := range all {
		e, err := source.At(k)
		if err != nil {
			return err
		}
		all[k] = prompt{synth.InputTokens(law, 1, k), e.Prompt.Text}
		bytes += len(e.Prompt.Text)
	}
	made := cpuTime() - start
	fmt.Printf("%s: %d prompts, %.1f MB, made in %.2f s of CPU time after %.2f s to prepare\n", file, n, float64(bytes)/1e6, made.Seconds(), prepared.Seconds())

	dir, err := os.MkdirTemp("", "prompts")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "prompts.jsonl")
	if err := write(path, all); err != nil {
		return err
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "tokenizer.json")
	}
	cmd := exec.Command(python, "test/tokenizers/prompts.py", file, path)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

func write(path string, all []prompt) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for _, p := range all {
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	return w.Flush()
}

// cpuTime returns the CPU time of this process so far, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // this process is there
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
