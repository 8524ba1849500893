package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A repo is a repository on the hub and in the cache.
type repo struct {
	Config
	name string
	dir  string // folder in the cache
}

// tokenizerFile is the required file of a tokenizer. otherFiles are downloaded if they
// exist; config.json names the model type, by which transformers 5 selects the class of
// the tokenizer.
const tokenizerFile = "tokenizer.json"

var otherFiles = []string{"tokenizer_config.json", "config.json"}

// cached returns the folder of the tokenizer in the cache, "" if there is none.
func (r repo) cached() string {
	dir := r.snapshot()
	if dir == "" {
		return ""
	}
	// Stat follows the link, so a link to a deleted blob does not count.
	if _, err := os.Stat(filepath.Join(dir, tokenizerFile)); err != nil {
		return ""
	}
	return dir
}

// snapshot returns the folder for the files of the revision, which need not exist; "" if
// the revision has no valid name.
func (r repo) snapshot() string {
	commit := r.revision()
	if ref, err := os.ReadFile(filepath.Join(r.dir, "refs", filepath.FromSlash(r.revision()))); err == nil {
		commit = strings.TrimSpace(string(ref))
	}
	if !isRevision(commit) {
		return ""
	}
	return filepath.Join(r.dir, "snapshots", filepath.FromSlash(commit))
}

// A file is a file of a repo, as downloaded.
type file struct {
	name   string
	commit string // commit of the file
	etag   string // identifies the content
	data   []byte
}

// store writes files of one commit to the cache and returns their folder.
func (r repo) store(files []file) (string, error) {
	commit := files[0].commit
	dir := filepath.Join(r.dir, "snapshots", commit)
	for _, f := range files {
		blob := filepath.Join(r.dir, "blobs", f.etag)
		if err := writeFile(blob, f.data); err != nil {
			return "", err
		}
		if err := link(blob, filepath.Join(dir, f.name)); err != nil {
			return "", err
		}
	}
	if commit != r.revision() {
		ref := filepath.Join(r.dir, "refs", filepath.FromSlash(r.revision()))
		if err := writeFile(ref, []byte(commit)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// writeFile writes a file atomically: other processes see the complete file or none.
func writeFile(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// link makes path a relative link to blob, or a copy where links are not supported.
func link(blob, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	target, err := filepath.Rel(filepath.Dir(path), blob)
	if err != nil {
		return err
	}
	if old, err := os.Readlink(path); err == nil && old == target {
		return nil
	}
	// Replace a link to an older or a deleted blob.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = os.Symlink(target, path)
	if err == nil || errors.Is(err, os.ErrExist) { // another process was faster
		return nil
	}
	data, readErr := os.ReadFile(blob)
	if readErr != nil {
		return fmt.Errorf("%w; %w", err, readErr)
	}
	return writeFile(path, data)
}
