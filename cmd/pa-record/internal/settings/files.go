package settings

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
)

// flagExport is the flag of exports, as people type it.
const flagExport = "--profile-export-file"

// CheckFiles refuses a run that would write a file that it reads, or write a file twice. The
// error is a usage error.
func (s *Settings) CheckFiles(c *cli.Context) error {
	files := cmdline.Files(c)
	runs := s.PlannedRuns()
	for i := range runs {
		AddExports(c, runs[i].Exports)
		if path, ok := journal.PathForAll(runs[i].Exports); ok {
			files.WritesFor(flagExport, "the journal", path)
		}
		csv := runs[i].CSV
		files.Writes("-f", csv)
		if s.ServiceKind == Triton { // which can have ensembles
			ending := "." + filepath.Base(csv)
			files.WritesSome("-f", "the CSV file for a model", csv, func(name string) bool { return strings.HasSuffix(name, ending) })
		}
	}
	files.Writes("--html", s.HTML)
	return cmdline.CheckFiles(c)
}

// AddExports adds exports to the files of the command line.
func AddExports(c *cli.Context, paths []string) {
	for _, path := range paths {
		cmdline.Files(c).Writes(flagExport, path)
	}
}

// readsData marks a flag that names input data.
func readsData(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		if value == "zero" || value == "random" {
			return nil
		}
		return dataFiles(value)
	})
}

// dataFiles returns the files of input data. For a folder they are its data files, or without
// such files the files of its tensors; otherwise path itself.
func dataFiles(path string) []string {
	inside, err := os.ReadDir(path)
	if err != nil {
		return []string{path}
	}
	var data, tensors []string
	for _, e := range inside {
		at := filepath.Join(path, e.Name())
		switch {
		case e.IsDir() || strings.HasPrefix(e.Name(), ".") && !dataset.IsDataFile(e.Name()):
		case dataset.IsDataFile(e.Name()):
			data = append(data, at)
		default:
			tensors = append(tensors, at)
		}
	}
	if len(data) > 0 {
		return data
	}
	return tensors
}

// readsTokenizer marks a flag that names a tokenizer.
func readsTokenizer(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		home, _ := os.UserHomeDir()
		return hub.FilesFromEnv(os.Getenv, home, value)
	})
}

// readsNamedDataset marks the flag that may name a dataset of Hugging Face's cache.
func readsNamedDataset(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		d, ok := HubDatasets[value]
		if !ok {
			return nil
		}
		home, _ := os.UserHomeDir()
		h := hub.Config{Cache: hub.CacheFromEnv(os.Getenv, home)}
		return append(h.CachedFiles(d), hub.TokenFileFromEnv(os.Getenv, home))
	})
}

// readsLaw marks a flag whose lengths may follow the histogram of a file.
func readsLaw(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		path, _ := strings.CutPrefix(value, "histogram:")
		if path == value {
			return nil
		}
		return []string{path}
	})
}

// readsProgram marks a flag that names a program.
func readsProgram(f cli.Flag) cli.Flag {
	return cmdline.Reads(f, func(value string) []string {
		path, err := exec.LookPath(value)
		if err != nil {
			return nil
		}
		return []string{path}
	})
}

// readsFile marks a flag whose value is the path of a file.
func readsFile(f cli.Flag) cli.Flag { return cmdline.Reads(f, nil) }
