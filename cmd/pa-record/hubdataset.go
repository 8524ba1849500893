package main

import (
	"bytes"
	"context"
	"os"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// hubDatasets are the datasets that --dataset finds without files, by layout. The
// rows of the first two are those that GenAI-Perf 24.03 to 24.10 asks for.
var hubDatasets = map[string]hub.Dataset{
	"openorca": {Name: "Open-Orca/OpenOrca", Config: "default", Split: "train", Files: []string{"*.parquet"}},
	"cnn_dailymail": {
		Name: "abisee/cnn_dailymail", Config: "1.0.0", Split: "train",
		Files: []string{"1.0.0/train-*.parquet", "3.0.0/train-*.parquet"},
	},
	"sharegpt": {
		Name: "anon8231489123/ShareGPT_Vicuna_unfiltered", Config: "default", Split: "train",
		Files: []string{"ShareGPT_V3_unfiltered_cleaned_split.json", "*.json"},
	},
}

// named reports whether a dataset is named and no file of it.
func (s *settings) named() bool {
	_, ok := hubDatasets[s.Layout]
	return ok && len(s.InputData) == 0
}

// nameDataset checks what is asked of a dataset without files.
func (p *settingsParser) nameDataset(s *settings) {
	if s.input != nil {
		p.errorf("--dataset and prompts that are made up (--synthetic-input-tokens, --num-sessions) exclude each other; drop one")
	}
	for _, flag := range []string{"trace-window", "block-tokens"} {
		if p.c.IsSet(flag) {
			p.errorf("--%s is about files of a trace; give them with --input-data", flag)
		}
	}
	if s.DatasetEntries == 0 {
		s.DatasetEntries = defaultEntries
	}
}

// openNamed opens the dataset that --dataset names: the files of Hugging Face's
// cache, else its first rows from the datasets server.
func openNamed(ctx context.Context, s *settings, env environment, o dataset.Options) (*dataset.Set, error) {
	home, _ := os.UserHomeDir() // without one there is no cache
	h, d := hub.FromEnv(env.getenv, home), hubDatasets[s.Layout]
	if files := h.CachedFiles(d); len(files) > 0 {
		if s.order.Kind == workload.Sequential && s.Layout != "sharegpt" { // of which rows are left out
			o.MaxRows = s.DatasetEntries
		}
		return dataset.Open(ctx, files, o)
	}
	s.note("--dataset %s: asking %s for the first %d rows of %s", s.Layout, addressOf(h.DatasetServer()), s.DatasetEntries, d.Name)
	text, err := h.FetchRows(ctx, d, s.DatasetEntries)
	if err != nil {
		return nil, err
	}
	return dataset.OpenReader(ctx, d.Name, bytes.NewReader(text), o)
}
