package trend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/disk"
)

// An AcceptedPoint is one accepted point: a folder of export files.
type AcceptedPoint struct {
	Name  string   // of the folder
	Files []string // in the order of their names
	// Unverified is set if the folder has no manifest, so that nobody knows whether its files
	// are the accepted ones.
	Unverified bool
	// Noise says why a person accepted the point although it is worse; "" if nobody did.
	Noise string
}

// A Baseline is what [ReadBaseline] found in a directory.
type Baseline struct {
	Points []AcceptedPoint // the oldest first
	// Lost are the points whose files are not as they were accepted, the oldest first.
	Lost []LeftOut
	// Leftovers are the folders in which an Accept was copying files. It is still under way, or
	// was killed.
	Leftovers []string
	// Total is the number of points in the directory; Points and Lost are the newest of them.
	Total int
}

// partialPrefix begins the names of folders that are not accepted yet.
const partialPrefix = ".accepting-"

// pointFolder matches the names that PointName returns.
var pointFolder = regexp.MustCompile(`^\d{4,}-\d\d-\d\dT\d{6}Z(-|$)`)

// ReadBaseline returns the newest n points of a directory; all points if n is 0. A point whose files
// differ from its manifest is lost, and counts as one of the n. A folder whose name is not of the
// kind that PointName returns is a point if it holds a file. A directory that does not exist has no points.
func ReadBaseline(ctx context.Context, dir string, n int) (*Baseline, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &Baseline{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("baseline %w", disk.Unreadable(err))
	}
	b := &Baseline{}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, partialPrefix) && e.IsDir():
			b.Leftovers = append(b.Leftovers, filepath.Join(dir, name))
		case strings.HasPrefix(name, "."):
		case !e.Type().IsRegular() && pointFolder.MatchString(name), e.IsDir() && holdsFile(filepath.Join(dir, name)):
			names = append(names, name)
		}
	}
	b.Total = len(names)
	if n > 0 && len(names) > n {
		names = names[len(names)-n:]
	}
	for _, name := range names {
		p, err := readPoint(ctx, filepath.Join(dir, name))
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			b.Lost = append(b.Lost, LeftOut{name, err.Error()})
			continue
		}
		p.Name = name
		b.Points = append(b.Points, p)
	}
	return b, nil
}

// holdsFile reports whether a folder holds a file that a point could have, or cannot be read.
func holdsFile(folder string) bool {
	entries, err := os.ReadDir(folder)
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".") })
}

// maxNamed bounds how many wrong files of a point an error names.
const maxNamed = 8

// readPoint returns the point of a folder without its name. The error says which files are not
// as they were accepted.
func readPoint(ctx context.Context, folder string) (p AcceptedPoint, err error) {
	if info, err := os.Lstat(folder); err != nil {
		return p, withoutPath(err)
	} else if !info.IsDir() {
		return p, fmt.Errorf("it is %s, not a folder", disk.Kind(info.Mode()))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return p, withoutPath(err)
	}
	m, err := readManifest(ctx, folder)
	if err != nil {
		return p, err
	}
	var wrong []string
	listed := func(string) bool { return true }
	if m != nil {
		listed = func(name string) bool {
			return slices.ContainsFunc(m.Files, func(f manifestFile) bool { return f.Name == name })
		}
		for i := range m.Files {
			if err := m.Files[i].check(ctx, folder); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ManifestName, strings.HasPrefix(name, "."):
		case !e.Type().IsRegular():
			wrong = append(wrong, name+" is "+disk.Kind(e.Type()))
		case !listed(name):
			wrong = append(wrong, name+" was added after the point was accepted")
		default:
			p.Files = append(p.Files, filepath.Join(folder, name))
		}
	}
	if wrong == nil && p.Files == nil {
		wrong = append(wrong, "it has no file")
	}
	if n := len(wrong) - maxNamed; n > 0 {
		wrong = append(wrong[:maxNamed], fmt.Sprintf("and %d more", n))
	}
	if wrong != nil {
		return p, errors.New(strings.Join(wrong, "; "))
	}
	if p.Unverified = m == nil; m != nil {
		p.Noise = m.Noise
	}
	return p, nil
}

// BaselineFiles returns the paths of everything in the points of a directory, manifests and files of lost
// points, too, without reading them. It returns nothing for a directory that cannot be read.
func BaselineFiles(dir string) []string {
	points, _ := os.ReadDir(dir)
	var files []string
	for _, point := range points {
		entries, _ := os.ReadDir(filepath.Join(dir, point.Name()))
		for _, e := range entries {
			files = append(files, filepath.Join(dir, point.Name(), e.Name()))
		}
	}
	return files
}

// PointName returns the folder name of a point: the start of its first run in UTC, and the label
// if it is not "". PointName replaces each character of the label by "_" unless it is a letter or
// digit of ASCII, ".", "-" or "_".
func PointName(startNS uint64, label string) string {
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

// leftoverAge is the age at which Accept removes the folder of an Accept that never ended.
const leftoverAge = 24 * time.Hour

// Accept copies files into a new point of a directory, with a manifest, and returns the point's
// folder. noise goes to the manifest, see [AcceptedPoint]. It creates the directory if needed. A point that exists already is an error. If copying
// fails, Accept removes what it copied. It removes folders that an Accept left a day ago or
// earlier.
func Accept(dir, name string, files []string, noise string) (folder string, err error) {
	folder = filepath.Join(dir, name)
	if _, err := os.Lstat(folder); err == nil {
		return "", fmt.Errorf("%s is accepted already", folder)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("baseline: %w", disk.Unmade(err))
	}
	if err := removeLeftovers(dir, time.Now().Add(-leftoverAge)); err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	partial, err := os.MkdirTemp(dir, partialPrefix)
	if err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	m := &manifest{Schema: manifestSchema, Noise: noise}
	taken := map[string]bool{ManifestName: true}
	for i, from := range files {
		base := strings.TrimLeft(filepath.Base(from), ".") // names with a dot are not read
		for base == "" || taken[base] {
			base = fmt.Sprintf("%d-%s", i+1, base)
		}
		taken[base] = true
		f, err := copyFile(from, filepath.Join(partial, base))
		if err != nil {
			return "", fmt.Errorf("baseline: accepting %s: %w", from, err)
		}
		f.Name = base
		m.Files = append(m.Files, f)
	}
	if err := m.write(partial); err != nil {
		return "", fmt.Errorf("baseline: %w", err)
	}
	if err := os.Chmod(partial, 0o755); err != nil { // MkdirTemp made it for its owner alone
		return "", fmt.Errorf("baseline: %w", err)
	}
	if err := os.Rename(partial, folder); err != nil {
		if _, there := os.Lstat(folder); there == nil {
			return "", fmt.Errorf("%s: another process accepted this point while these runs were copied, so these runs were not added; if they are other runs, give them another label and judge them again with --accept", folder)
		}
		return "", fmt.Errorf("baseline: %w", err)
	}
	return folder, nil
}

// removeLeftovers removes the folders of Accepts that never ended, if they are older than a time.
func removeLeftovers(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), partialPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// copyFile copies a file, and returns its size and hash without a name.
func copyFile(from, to string) (f manifestFile, err error) {
	in, err := os.Open(from)
	if err != nil {
		return f, err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return f, err
	}
	// The copy holds the same prompts and answers.
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), in)
	if err != nil {
		return f, err
	}
	return manifestFile{Bytes: n, SHA256: hex.EncodeToString(h.Sum(nil))}, out.Sync()
}
