package baseline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Point is one accepted point: a folder of export files.
type Point struct {
	Name  string   // of the folder
	Files []string // in the order of their names
}

// List returns the newest n points of a directory, the oldest of them first; all points if n
// is 0. A directory that does not exist has no points.
func List(dir string, n int) ([]Point, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", dir, err)
	}
	var points []Point
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		files, err := os.ReadDir(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("baseline %s: %w", dir, err)
		}
		p := Point{Name: e.Name()}
		for _, f := range files {
			if f.Type().IsRegular() && !strings.HasPrefix(f.Name(), ".") {
				p.Files = append(p.Files, filepath.Join(dir, e.Name(), f.Name()))
			}
		}
		if p.Files != nil {
			points = append(points, p)
		}
	}
	if n > 0 && len(points) > n {
		points = points[len(points)-n:]
	}
	return points, nil
}

// Name returns the folder name of a point: the start of its first run in UTC, and the label
// if it is not "". Name replaces each character of the label by "_" unless it is a letter or
// digit of ASCII, ".", "-" or "_".
func Name(startNS uint64, label string) string {
	name := time.Unix(0, int64(startNS)).UTC().Format("2006-01-02T150405Z")
	if label == "" {
		return name
	}
	return name + "-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, label)
}

// Accept copies files into a new point of a directory and returns the point's folder. It
// creates the directory if needed. A point that exists already is an error. If copying
// fails, Accept removes what it copied.
func Accept(dir, name string, files []string) (folder string, err error) {
	folder = filepath.Join(dir, name)
	if _, err := os.Lstat(folder); err == nil {
		return "", fmt.Errorf("%s is accepted already", folder)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	partial, err := os.MkdirTemp(dir, ".accepting-")
	if err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	taken := map[string]bool{}
	for i, from := range files {
		base := filepath.Base(from)
		if taken[base] {
			base = fmt.Sprintf("%d-%s", i+1, base)
		}
		taken[base] = true
		if err := copyFile(from, filepath.Join(partial, base)); err != nil {
			return "", fmt.Errorf("baseline: accepting %s: %w", from, err)
		}
	}
	if err := os.Chmod(partial, 0o755); err != nil { // MkdirTemp made it for its owner alone
		return "", fmt.Errorf("baseline: %w", err)
	}
	if err := os.Rename(partial, folder); err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	return folder, nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return err
	}
	// The copy holds the same prompts and answers.
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Sync()
}
