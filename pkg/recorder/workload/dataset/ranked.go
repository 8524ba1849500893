package dataset

import (
	"os"
	"path/filepath"
	"strings"
)

// RankedFiles returns the files of a folder with queries and with passages, as
// GenAI-Perf has them: queries.jsonl and passages.jsonl. ok is false if path is no
// such folder.
func RankedFiles(path string) (queries, passages string, ok bool) {
	inside, err := os.ReadDir(path)
	if err != nil {
		return "", "", false // opening it as a file says why
	}
	for _, f := range inside {
		if f.IsDir() || !IsDataFile(f.Name()) {
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
