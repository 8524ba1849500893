package forecast

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// Answers say what the answers to the requests are like.
type Answers struct {
	API       render.API // 0: unknown
	Streaming bool
	Model     string // "" if only the server knows it
}

// A fileSize says how large a file of a run becomes, in bytes. TestForecastSize of pa-record holds it
// to files of recorded runs.
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
	// again says that a text that later events repeat takes as much again: it is too far away for the compression.
	again bool
}

// fileSizes has the most common format last, which is also of a name without a suffix. Compressed
// times and texts of answers take up to 13 bytes a token, the less the more regular they are.
var fileSizes = []fileSize{
	{suffix: ".json.gz", file: 2500, input: 0.45, whole: 70, text: 1.7, streamed: 85, event: 12},
	{suffix: ".json.zst", file: 2500, input: 0.33, whole: 70, text: 1.7, streamed: 110, event: 10.2},
	{suffix: ".parquet", file: 20_500, input: 0.36, whole: 60, text: 1.9, streamed: 100, event: 10.2, again: true},
	{suffix: ".arrow", file: 20_500, input: 1.05, whole: 860, text: 6.2, event: -10, repeats: true},
	{suffix: ".json", file: 1700, input: 1.05, whole: 800, text: 6.2, repeats: true},
}

// journalSize is of the journal.
var journalSize = fileSize{file: 1700, input: 1, whole: 450, text: 6.2, streamed: 600, event: 13.5, again: true}

// apiSizes are what a request and an event take in formats that keep repeated text, without the
// model's name, which events have if named is set. In the journal, a request takes around more for events without tokens.
// Events repeat the whole text again times beside the one that all APIs have.
var apiSizes = map[render.API]struct {
	request, event float64
	named          bool
	around, again  float64
}{
	render.Chat:        {request: 1120, event: 268, named: true},
	render.Completions: {request: 780, event: 264, named: true},
	render.Responses:   {request: 1280, event: 196, around: 1300, again: 2},
	render.Messages:    {request: 1440, event: 186},
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
func (l *Load) fileBytes(size fileSize, requests, output recorder.Figure, data *Facts) recorder.Figure {
	kept, known := apiSizes[l.Answers.API]
	switch {
	case !known:
		return recorder.Figure{Basis: "the size of the answers is not known"}
	case !requests.Known():
		return requests
	case math.IsNaN(data.InputBytes):
		return recorder.Figure{Basis: "the size of the requests is not known"}
	}
	request, token := size.whole, size.text
	if l.Answers.Streaming {
		request, token = size.streamed, size.event
		if size == journalSize {
			request += kept.around
		}
		if size.again {
			token += kept.again * size.text
		}
		if size.repeats {
			name := float64(cmp.Or(len(l.Answers.Model), usualName))
			request += kept.request + 4*name
			if token += kept.event; kept.named {
				token += name
			}
		}
	}
	request += size.input * data.InputBytes
	about := func(bytes float64, of string) recorder.Figure {
		return recorder.Figure{Value: bytes, Bound: recorder.About, Basis: fmt.Sprintf("%s bytes a%s", ThreeDigits(bytes), of)}
	}
	all := requests.Times(about(request, " request")).Add(output.Times(about(token, " token")))
	all.Value += size.file
	return all
}

// A Shortage is a file system with less room than files of the runs need.
type Shortage struct {
	Dir     string
	Need    recorder.Figure
	Free    float64
	Journal bool // the journal is among the files
	Repeats bool // a file of a format that is large is among the files of the runs
}

// Shortages returns the file systems without room for the journal of a run and the exports of all
// runs, which have the paths of files. space is [disk.FreeSpace] except in tests.
func (l *Load) Shortages(f *Forecast, data *Facts, journal string, files []string, space func(dir string) (disk.Space, bool)) (short []Shortage) {
	places := map[string]*Shortage{} // by file system
	var order []*Shortage
	repeats := false
	add := func(path string, bytes recorder.Figure) *Shortage {
		dir := filepath.Dir(path)
		free, ok := space(dir)
		if !ok || !bytes.Known() {
			return &Shortage{}
		}
		name := cmp.Or(free.FileSystem, dir)
		if places[name] == nil {
			places[name] = &Shortage{Dir: dir, Free: float64(free.Free), Need: recorder.Figure{Bound: recorder.Exact}}
			order = append(order, places[name])
		}
		places[name].Need = places[name].Need.Add(bytes)
		return places[name]
	}
	if journal != "" {
		add(journal, f.Journal).Journal = true
	}
	for _, path := range files {
		size := sizesFor(path)
		repeats = repeats || size.repeats
		add(path, l.fileBytes(size, f.Run.Requests, f.Run.Requests.Times(data.Output), data))
	}
	for _, p := range order {
		if p.Repeats = repeats; p.Need.Value > p.Free {
			short = append(short, *p)
		}
	}
	return short
}
