package inputs

import (
	"bytes"
	"context"
	"os"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// openNamed opens the dataset that --dataset names: the files of Hugging Face's
// cache, else its first rows from the datasets server.
func openNamed(ctx context.Context, s *settings.Settings, getenv func(string) string, o dataset.Options) (*dataset.Set, error) {
	home, _ := os.UserHomeDir() // without one there is no cache
	h, d := hub.FromEnv(getenv, home), settings.HubDatasets[s.Layout]
	if files := h.CachedFiles(d); len(files) > 0 {
		if s.SendOrder.Kind == workload.Sequential && s.Layout != "sharegpt" { // the layout sharegpt skips rows
			o.MaxRows = s.DatasetEntries
		}
		return dataset.Open(ctx, files, o)
	}
	s.Note("--dataset %s: asking %s for the first %d rows of %s", s.Layout, settings.AddressOf(h.DatasetServer()), s.DatasetEntries, d.Name)
	text, err := h.FetchRows(ctx, d, s.DatasetEntries)
	if err != nil {
		return nil, err
	}
	return dataset.OpenReader(ctx, d.Name, bytes.NewReader(text), o)
}
