package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// A fileSize says how large a file of a run becomes, in bytes. TestForecastSize holds it to files of
// recorded runs.
type fileSize struct {
	suffix string // of the file's name
	file   float64
	// input is for each byte of a prompt. whole is for each request whose answer is not streamed,
	// and text for each token of it.
	input, whole, text float64
	// streamed is for each request whose answer is streamed, and event for each token of it.
	// Formats that keep repeated text have what a request and an event of the API take more.
	streamed, event float64
	repeats         bool
}

// fileSizes has the most common format last, which is also of a name without a suffix. Compressed
// times and texts of answers take up to 13 bytes a token, the less the more regular they are.
var fileSizes = []fileSize{
	{suffix: ".json.gz", file: 2500, input: 0.45, whole: 70, text: 1.7, streamed: 85, event: 12},
	{suffix: ".json.zst", file: 2500, input: 0.33, whole: 70, text: 1.7, streamed: 110, event: 10.2},
	{suffix: ".parquet", file: 20_500, input: 0.36, whole: 60, text: 1.9, streamed: 100, event: 10.2},
	{suffix: ".arrow", file: 20_500, input: 1.05, whole: 860, text: 6.2, event: -10, repeats: true},
	{suffix: ".json", file: 1700, input: 1.05, whole: 800, text: 6.2, repeats: true},
}

// journalSize is of the journal.
var journalSize = fileSize{file: 1700, input: 1, whole: 450, text: 6.2, streamed: 600, event: 13.5}

// apiSizes are what a request and an event take in formats that keep repeated text, without the
// model's name, which events have if named is set.
var apiSizes = map[render.API]struct {
	request, event float64
	named          bool
}{
	render.Chat:        {1120, 268, true},
	render.Completions: {780, 264, true},
	render.Responses:   {1280, 196, false},
}

// usualName is the length of the name of a model that only the server knows.
const usualName = 12

// sizesFor returns the sizes of an export.
func sizesFor(path string) fileSize {
	for _, size := range fileSizes {
		if strings.HasSuffix(strings.ToLower(path), size.suffix) {
			return size
		}
	}
	return fileSizes[len(fileSizes)-1]
}

// fileBytes returns how large a file of a run becomes with these requests and output tokens.
func (s *settings) fileBytes(size fileSize, requests, output recorder.Figure, data *dataFacts) recorder.Figure {
	api, ok := render.APIOf(s.endpointPath())
	kept, streams := apiSizes[api]
	switch {
	case s.ServiceKind != kindOpenAI || !ok || !streams || s.template != nil:
		return recorder.Figure{Basis: "the size of the answers is not known"}
	case !requests.Known():
		return requests
	case math.IsNaN(data.inputBytes):
		return recorder.Figure{Basis: "the size of the requests is not known"}
	}
	request, token := size.whole, size.text
	if s.Streaming {
		request, token = size.streamed, size.event
		if size.repeats {
			name := float64(cmp.Or(len(s.Model), usualName))
			request += kept.request + 4*name
			if token += kept.event; kept.named {
				token += name
			}
		}
	}
	request += size.input * data.inputBytes
	about := func(bytes float64, of string) recorder.Figure {
		return recorder.Figure{Value: bytes, Bound: recorder.About, Basis: fmt.Sprintf("%s bytes a%s", threeDigits(bytes), of)}
	}
	all := requests.Times(about(request, " request")).Add(output.Times(about(token, " token")))
	all.Value += size.file
	return all
}

// warnOfDisk warns if a file system has less room than the files of the runs need.
// space is [disk.FreeSpace] except in tests.
func (s *settings) warnOfDisk(w io.Writer, f *forecast, space func(dir string) (disk.Space, bool), data *dataFacts) {
	type place struct {
		dir   string
		need  float64
		bound recorder.Bound
		free  float64
	}
	places := map[string]*place{} // by file system
	var order []*place
	add := func(path string, bytes recorder.Figure) {
		dir := filepath.Dir(path)
		free, ok := space(dir)
		if !ok || !bytes.Known() {
			return
		}
		name := free.FileSystem
		if name == "" {
			name = dir
		}
		p := places[name]
		if p == nil {
			p = &place{dir: dir, free: float64(free.Free)}
			places[name] = p
			order = append(order, p)
		}
		p.need += bytes.Value
		p.bound = max(p.bound, bytes.Bound)
	}
	runs := s.plannedRuns()
	journalAt, json := "", false
	for i := range runs {
		for _, path := range runs[i].Exports {
			target, err := disk.Resolve(path)
			if err != nil || disk.IsSpecial(path) {
				continue
			}
			if i == 0 && journalAt == "" {
				journalAt = journal.PathFor(target)
				add(journalAt, f.Journal)
			}
			json = json || sizesFor(path).repeats
			add(target, s.fileBytes(sizesFor(path), f.run.Requests, f.run.Requests.Times(data.output), data))
		}
	}
	for _, p := range order {
		if p.need <= p.free {
			continue
		}
		advice := "free space there, write elsewhere with --artifact-dir"
		if json {
			advice += ", export .parquet, which takes a fraction of it"
		}
		if p.dir == filepath.Dir(journalAt) {
			advice += ", name a folder with room for the rest of the journal with --spill-dir"
		}
		advice += ", or send less"
		amount := byteText(p.need)
		if p.bound != recorder.Exact {
			amount = p.bound.String() + " " + amount
		}
		fmt.Fprintf(w, "pa-record: warning: journal and export need %s in %s, which has %s free: %s\n", amount, p.dir, byteText(p.free), advice)
	}
}
