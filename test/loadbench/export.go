//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// exportStreams is the concurrency of a made-up export.
const exportStreams = 64

// exportSeed makes every made-up export of the same size the same file.
const exportSeed = 1

// vocabulary holds the texts of made-up answers: words, pieces of words, pairs,
// punctuation and letters beyond ASCII.
var vocabulary = strings.Split(" model| answers| quickly|,| then| it| waits| for| the| next| request|.| lat|ency|"+
	" through|put| 128| 3.5%| (p99)| a batch| of two| don't| stop|!| Why|?| größer| déjà| vu| 東京| ok|\n| \"quoted\"| tail", "|")

// exportFile returns the path and the size in MB of the file that sections read. The first
// call makes the file.
func (s *suite) exportFile() (path string, mb float64, err error) {
	path = filepath.Join(s.dir, "profile_export.json")
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err = createExport(path, s.requests, s.tokens); err == nil {
			info, err = os.Stat(path)
		}
	}
	if err != nil {
		return "", 0, err
	}
	return path, float64(info.Size()) / 1e6, nil
}

func createExport(path string, requests, tokens int) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeExport(f, requests, tokens)
}

// writeExport writes a profile export of perf_analyzer's form: streamed chat completions
// with as many responses per request as tokens, at least 4. The first response names the
// role, the last but one the reason of the end, and the last one is [DONE].
func writeExport(out io.Writer, requests, tokens int) error {
	const start = 1_750_000_000_000_000_000
	tokens = max(tokens, 4)
	r := rand.New(rand.NewPCG(exportSeed, 0))
	w := bufio.NewWriterSize(out, 1<<20)
	role, err := chunk(map[string]string{"role": "assistant", "content": ""}, nil)
	if err != nil {
		return err
	}
	stop := "stop"
	finish, err := chunk(map[string]string{}, &stop)
	if err != nil {
		return err
	}
	done, err := response("data: [DONE]\n\n")
	if err != nil {
		return err
	}
	var pieces [][]byte
	for _, text := range vocabulary {
		piece, err := chunk(map[string]string{"content": text}, nil)
		if err != nil {
			return err
		}
		pieces = append(pieces, piece)
	}

	var free [exportStreams]int64 // when each stream can send its next request
	for i := range free {
		free[i] = start + int64(i)*1000
	}
	var end int64
	fmt.Fprintf(w, `{"experiments":[{"experiment":{"mode":"concurrency","value":%d},"requests":[`, exportStreams)
	var line []byte
	for i := range requests {
		at := &free[i%exportStreams]
		*at += 10_000 + r.Int64N(100_000)
		line = line[:0]
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendInt(append(line, `{"timestamp":`...), *at, 10)
		payload, err := prompt(r)
		if err != nil {
			return err
		}
		line = append(append(line, `,"request_inputs":{"payload":`...), payload...)
		line = append(line, `},"response_timestamps":[`...)
		*at += 50_000_000 + r.Int64N(150_000_000)
		mean := 8_000_000 + r.Int64N(12_000_000)
		for k := range tokens {
			if k > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendInt(line, *at, 10)
			switch {
			case k < tokens-2:
				*at += mean + r.Int64N(5_000_000)
			case k < tokens-1:
				*at += 50_000
			}
		}
		end = max(end, *at)
		line = append(append(line, `],"response_outputs":[`...), role...)
		for range tokens - 3 {
			line = append(append(line, ','), pieces[r.IntN(len(pieces))]...)
		}
		line = append(append(line, ','), finish...)
		line = append(append(line, ','), done...)
		line = append(line, `]}`...)
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, `],"window_boundaries":[%d,%d]}],"version":"1.1","service_kind":"openai","endpoint":"v1/chat/completions"}`+"\n", int64(start), end)
	return w.Flush()
}

// chunk returns the response with one event of a streamed chat completion.
func chunk(delta map[string]string, finish *string) ([]byte, error) {
	text, err := event(delta, finish)
	if err != nil {
		return nil, err
	}
	return response(text)
}

// event returns one event of a streamed chat completion.
func event(delta map[string]string, finish *string) (string, error) {
	type choice struct {
		Index  int               `json:"index"`
		Delta  map[string]string `json:"delta"`
		Finish *string           `json:"finish_reason"`
	}
	body, err := marshal(struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int      `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
	}{"chatcmpl-1", "chat.completion.chunk", 1750000000, "m", []choice{{0, delta, finish}}})
	if err != nil {
		return "", err
	}
	return "data: " + string(body) + "\n\n", nil
}

// response returns text as an element of "response_outputs".
func response(text string) ([]byte, error) {
	return marshal(map[string]string{"response": text})
}

// prompt returns the JSON string of a chat request with 20 words.
func prompt(r *rand.Rand) ([]byte, error) {
	body, err := payload(r)
	if err != nil {
		return nil, err
	}
	return marshal(string(body))
}

// payload returns a chat request with 20 words.
func payload(r *rand.Rand) ([]byte, error) {
	var text strings.Builder
	for range 20 {
		text.WriteString(vocabulary[r.IntN(len(vocabulary))])
	}
	return marshal(map[string]any{
		"model": "m", "stream": true,
		"messages": []map[string]string{{"role": "user", "content": strings.TrimSpace(text.String())}},
	})
}

// marshal encodes v without the escapes for HTML, which no server writes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
