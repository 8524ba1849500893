package inputs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
)

// rankedFiles returns the files of a folder with queries and with passages, as
// GenAI-Perf has them: queries.jsonl and passages.jsonl. ok is false if path is no
// such folder.
func rankedFiles(path string) (queries, passages string, ok bool) {
	inside, err := os.ReadDir(path)
	if err != nil {
		return "", "", false // opening it as a file says why
	}
	for _, f := range inside {
		if f.IsDir() || !dataset.IsDataFile(f.Name()) {
			continue
		}
		switch stem, _, _ := strings.Cut(f.Name(), "."); stem {
		case "queries":
			queries = filepath.Join(path, f.Name())
		case "passages":
			passages = filepath.Join(path, f.Name())
		}
	}
	return queries, passages, queries != "" && passages != ""
}

// readRankings opens queries, and the passages that are ranked by them.
func readRankings(ctx context.Context, s *settings.Settings, queries, passages string, o dataset.Options) (_ *Data, err error) {
	e := &Data{Meta: &export.DatasetMeta{Order: s.Order}, Close: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(readError(ctx, "--input-data", err), e.Close())
		}
	}()
	var sets []workload.Source
	for _, path := range []string{queries, passages} {
		set, err := dataset.Open(ctx, []string{path}, o)
		if err != nil {
			return nil, err
		}
		before := e.Close
		e.Close = func() error { return errors.Join(before(), set.Close()) }
		e.Notes = append(e.Notes, set.Notes()...)
		for _, f := range set.Files() {
			e.Meta.Files = append(e.Meta.Files, export.DatasetFile(f))
		}
		sets = append(sets, set)
	}
	if e.Source, err = workload.Rankings(sets[0], sets[1], batches(s)); err != nil {
		return nil, err
	}
	if s.BatchTexts <= 1 {
		e.limit(s)
	}
	e.Meta.Entries = e.Len()
	return e, nil
}

// batches returns how many texts and images are put into each request, for --batch-size-text
// and --batch-size-image, and how many requests there are.
func batches(s *settings.Settings) workload.Batch {
	n := s.DatasetEntries
	if n == 0 {
		n = settings.DefaultEntries
	}
	return workload.Batch{N: n, Texts: max(1, s.BatchTexts), Images: max(1, s.BatchImages), Seed: s.Seed}
}
