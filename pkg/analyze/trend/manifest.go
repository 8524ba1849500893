package trend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
)

// ManifestName is the name of the manifest in the folder of a point.
const ManifestName = "manifest.json"

// manifestSchema names the layout of manifests.
const manifestSchema = "pa-baseline/1"

// maxManifestBytes bounds the size of a manifest: some 50,000 files.
const maxManifestBytes = 8 << 20

// A manifest lists the files of a point as they were accepted.
type manifest struct {
	Schema string         `json:"schema"`
	Files  []manifestFile `json:"files"`
	Noise  string         `json:"noise,omitempty"` // see [AcceptedPoint]
}

type manifestFile struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // in hex
}

// write writes the manifest into a folder.
func (m *manifest) write(folder string) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, ManifestName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// readManifest reads the manifest of a folder; nil if there is none. The error does not name the
// folder.
func readManifest(ctx context.Context, folder string) (*manifest, error) {
	path := filepath.Join(folder, ManifestName)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, withoutPath(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is %s", ManifestName, disk.Kind(info.Mode()))
	}
	text, err := disk.ReadFile(ctx, path, maxManifestBytes)
	if err != nil {
		return nil, err
	}
	m := &manifest{}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("%s is not a manifest: %w", ManifestName, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s is not a manifest: text follows its object", ManifestName)
	}
	if m.Schema != manifestSchema {
		return nil, fmt.Errorf("%s has the schema %q, and this program reads %s", ManifestName, m.Schema, manifestSchema)
	}
	if len(m.Files) == 0 {
		return nil, fmt.Errorf("%s lists no file", ManifestName)
	}
	named := map[string]bool{}
	for _, f := range m.Files {
		if f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") || f.Name == ManifestName || named[f.Name] {
			return nil, fmt.Errorf("%s lists %q, which cannot name another file of the point", ManifestName, f.Name)
		}
		named[f.Name] = true
	}
	return m, nil
}

// check returns an error if the file in a folder is not as it was accepted.
func (f *manifestFile) check(ctx context.Context, folder string) error {
	path := filepath.Join(folder, f.Name)
	switch info, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is gone", f.Name)
	case err != nil:
		return fmt.Errorf("%s: %w", f.Name, withoutPath(err))
	case !info.Mode().IsRegular():
		return nil // the listing of the folder names it
	}
	in, err := disk.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, disk.Interruptible(ctx, in))
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, withoutPath(err))
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != f.Bytes || !strings.EqualFold(sum, f.SHA256) {
		return fmt.Errorf("%s was changed after it was accepted: it has %d bytes with the SHA-256 %s, and %s says %d bytes with %q", f.Name, n, sum, ManifestName, f.Bytes, f.SHA256)
	}
	return nil
}

// withoutPath returns the cause of an error of package os.
func withoutPath(err error) error {
	if pe := new(fs.PathError); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
