//go:build unix

// Speed compares pkg/tokenizer with the Hugging Face library, on one thread each
// and in the same run.
//
//	go run ./test/tokenizers/speed -python venv/bin/python [-text FILE] TOKENIZER…
//
// Cold is the first time that a tokenizer sees the text, warm the best of three
// times after it. Documents have some 2 000 bytes. Numbers of tokens must agree.
// Paces are of CPU time, which hardly depends on what else the machine does.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

func main() {
	python := flag.String("python", "", "the `program` of a Python that has the library; empty leaves it out")
	textFile := flag.String("text", "", "the `file` to encode; empty is the built-in corpus, ten times over")
	flag.Parse()
	if err := run(*python, *textFile, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(python, textFile string, files []string) (err error) {
	runtime.GOMAXPROCS(1)
	text := strings.Repeat(builtin.Corpus(), 10)
	if textFile != "" {
		data, err := os.ReadFile(textFile)
		if err != nil {
			return err
		}
		text = string(data)
	}
	docs := documents(text, 2000)
	dir, err := os.MkdirTemp("", "tokenizers")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	docFile := filepath.Join(dir, "documents.jsonl")
	if err := writeDocuments(docFile, docs); err != nil {
		return err
	}
	fmt.Printf("%d documents, %.1f MB\n", len(docs), float64(len(text))/1e6)
	for _, file := range files {
		if err := compare(python, file, docFile, docs); err != nil {
			return err
		}
	}
	return nil
}

// documents cuts text into parts of some n bytes, at blanks where there are any.
func documents(text string, n int) []string {
	var docs []string
	for len(text) > n {
		end := n
		if at := strings.LastIndexByte(text[:n], ' '); at > 0 {
			end = at
		}
		for !utf8.RuneStart(text[end]) {
			end--
		}
		docs = append(docs, text[:end])
		text = text[end:]
	}
	return append(docs, text)
}

func writeDocuments(path string, docs []string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	e := json.NewEncoder(f)
	for _, d := range docs {
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// cpuTime returns the CPU time of this process so far, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // this process is there
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func compare(python, file, docFile string, docs []string) error {
	start := cpuTime()
	tok, err := tokenizer.Load(file)
	if err != nil {
		return err
	}
	loaded := cpuTime() - start
	size, tokens := 0, 0
	for _, d := range docs {
		size += len(d)
	}
	pace := func() float64 {
		start := cpuTime()
		tokens = 0
		for _, d := range docs {
			tokens += tok.Count(d)
		}
		return float64(size) / (cpuTime() - start).Seconds() / 1e6
	}
	cold := pace()
	warm := slices.Max([]float64{pace(), pace(), pace()})
	fmt.Printf("%s: loaded in %v; %d tokens; cold %.1f MB/s, warm %.1f MB/s\n", file, loaded.Round(time.Millisecond), tokens, cold, warm)
	if python == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, "tokenizer.json")
	}
	out, err := exec.Command(python, "test/tokenizers/library.py", file, docFile).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", python, err)
	}
	var library struct {
		Tokens int
		MBPerS map[string]float64 `json:"mb_per_s"`
	}
	if err := json.Unmarshal(out, &library); err != nil {
		return err
	}
	if library.Tokens != tokens {
		return fmt.Errorf("%s: %d tokens, the library counts %d", file, tokens, library.Tokens)
	}
	for _, name := range []string{"encode", "encode_batch_fast"} {
		theirs := library.MBPerS[name]
		fmt.Printf("  the library's %s: %.1f MB/s; cold %.1f times as fast, warm %.1f times\n", name, theirs, cold/theirs, warm/theirs)
	}
	return nil
}
