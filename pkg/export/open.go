package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/spool"
)

// A Format recognizes and opens files of one kind.
type Format interface {
	// Name returns the name of the format for messages: "profile_export.json". A format
	// with the name "" is recognized only so that Open can refuse it with a reason.
	Name() string
	// Sniff reports whether a file that starts with head (up to 4 KiB, after
	// decompression) looks like this format.
	Sniff(head []byte) bool
	// Open returns a Reader of the size bytes of src. name is for messages.
	// Closing the Reader does not close src.
	Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim Limits) (Reader, error)
}

// MagicFormat returns the format with a name whose files begin with magic. open is its Open.
func MagicFormat[R Reader](name, magic string, open func(ctx context.Context, name string, src io.ReaderAt, size int64, lim Limits) (R, error)) Format {
	return &magicFormat[R]{name, magic, open}
}

// A magicFormat is the result of [MagicFormat].
type magicFormat[R Reader] struct {
	name, magic string
	open        func(ctx context.Context, name string, src io.ReaderAt, size int64, lim Limits) (R, error)
}

// Name implements [Format].
func (f *magicFormat[R]) Name() string { return f.name }

// Sniff implements [Format].
func (f *magicFormat[R]) Sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(f.magic)) }

// Open implements [Format]. It returns a nil interface, not a nil R, for an error.
func (f *magicFormat[R]) Open(ctx context.Context, name string, src io.ReaderAt, size int64, lim Limits) (Reader, error) {
	r, err := f.open(ctx, name, src, size, lim)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Limits bounds the memory and disk space that a hostile or broken file can take.
type Limits struct {
	// MaxValueBytes bounds a single value (a string, a list of responses);
	// 0 means 64 MiB.
	MaxValueBytes int64
	// MaxMemoryBytes bounds the memory of the responses of a request of a JSON file, if MaxValueBytes is
	// above its default; 0 leaves them to MaxValueBytes.
	MaxMemoryBytes int64
}

// DefaultMaxRatio is the bound for an Opener.MaxRatio of 0.
const DefaultMaxRatio = spool.DefaultMaxRatio

// DefaultMaxValueBytes is the bound for a Limits.MaxValueBytes of 0.
const DefaultMaxValueBytes = 64 << 20

// ValueBytes returns the maximum bytes of a single value.
func (l Limits) ValueBytes() int64 {
	if l.MaxValueBytes <= 0 {
		return DefaultMaxValueBytes
	}
	return l.MaxValueBytes
}

// stdinName is the name of Opener.Stdin in messages.
const stdinName = "stdin"

// sniffBytes is the number of bytes that Format.Sniff gets.
const sniffBytes = 4 << 10

// An Opener opens recorded runs of several formats.
type Opener struct {
	// Formats are tried in this order. The first one that recognizes the content
	// opens it.
	Formats []Format
	Limits  Limits
	// Stdin is the input for the path "-"; nil means that there is none.
	Stdin io.Reader
	// Beside allows a Reader to open files with fixed names in the folder of the
	// named file: the summary and the settings that the tool writes there. A path
	// that names a folder allows it, too.
	Beside bool
	// TempDir is the folder for decompressed copies of compressed files, pipes and
	// Stdin while they are read; "" is the system's folder for temporary files.
	TempDir string
	// MaxSpoolBytes bounds the bytes kept in TempDir, so that a small compressed
	// file cannot fill the disk; 0 means half of the disk's free space, at most 64 GiB.
	MaxSpoolBytes int64
	// MaxRatio bounds the decompressed bytes for each compressed byte, beyond the
	// first 64 MiB; 0 means 1000, a negative number no limit.
	MaxRatio int
}

// Open opens the file at path, or Stdin for "-". It recognizes gzip, zstd and the format
// by the content, never by the name. For a folder it opens the file of requests in it: see
// [ResultFile].
//
// Open reads an uncompressed regular file in place. It copies other input to a
// temporary file first, which Close removes. The copy keeps only the first kilobyte
// of a longer run of blanks between the tokens of JSON, so byte offsets in messages
// may be too small after such a run. Open refuses input of an unknown format after
// reading its first bytes. A damaged compressed file yields the requests before the
// damage; Err then describes the damage.
//
// The error names the path and the remedy. It wraps errors such as fs.ErrNotExist.
func (o *Opener) Open(ctx context.Context, path string) (Reader, error) {
	if path == "-" {
		if o.Stdin == nil {
			return nil, errors.New("-: there is no standard input; give a file")
		}
		return o.openStream(ctx, stdinName, o.Stdin, nil)
	}
	// Stat first: opening a pipe waits for its writer, and opening a folder gives an
	// error that does not help.
	beside := o.Beside
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		if path, err = ResultFile(path); err != nil {
			return nil, err
		}
		beside = true
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if pe := new(fs.PathError); errors.As(err, &pe) { // without the name of the system call
			err = pe.Err
		}
		return nil, fmt.Errorf("%s: %w; check the path (pa-record writes profile_export.json into the working directory)", path, err)
	case err != nil:
		return nil, disk.Unreadable(err)
	}
	f, err := disk.OpenStream(ctx, path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return o.openStream(ctx, path, f, f)
	}
	r, err := o.openFile(ctx, path, f)
	if err != nil {
		return nil, err
	}
	if beside {
		useSummaries(ctx, r, path)
		r.beside = path
	}
	return r, nil
}

// openFile opens a regular file. It closes f unless the returned Reader keeps it.
func (o *Opener) openFile(ctx context.Context, name string, f *os.File) (*ownedReader, error) {
	fail := func(err error) (*ownedReader, error) { return nil, errors.Join(err, f.Close()) }
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return fail(err)
	}
	head := make([]byte, min(size, sniffBytes))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fail(err)
	}
	if spool.Compression(head[:n]) != "" {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return fail(err)
		}
		return o.openStream(ctx, name, f, f)
	}
	r, err := o.openFormat(ctx, name, head[:n], f, size)
	if err != nil {
		return fail(err)
	}
	again := func(ctx context.Context) (Reader, error) { return o.openFormat(ctx, name, head[:n], f, size) }
	return &ownedReader{Reader: r, close: f.Close, again: again}, nil
}

// openStream copies src to a temporary file and opens the copy. It always closes c, if c
// is not nil.
func (o *Opener) openStream(ctx context.Context, name string, src io.Reader, c io.Closer) (_ *ownedReader, err error) {
	s, err := spool.Copy(ctx, name, src, spool.Config{
		Dir: o.TempDir, MaxBytes: o.MaxSpoolBytes, MaxRatio: o.MaxRatio, CutBlanks: true,
		Check: func(head []byte) error { return o.checkRecognized(name, head) }, CheckBytes: sniffBytes,
	})
	if c != nil {
		switch e := c.Close(); {
		case err != nil:
			err = errors.Join(err, e)
		case e != nil:
			err = errors.Join(e, s.Close())
		}
	}
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(s.Size, sniffBytes))
	n, err := s.File.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, s.Close())
	}
	if n == 0 && s.Err != nil {
		return nil, errors.Join(fmt.Errorf("%s: cannot be read: %w", name, s.Err), s.Close())
	}
	r, err := o.openFormat(ctx, name, head[:n], s.File, s.Size)
	if err != nil {
		if s.Err != nil {
			err = fmt.Errorf("%w (%w)", err, s.Err)
		}
		return nil, errors.Join(err, s.Close())
	}
	again := func(ctx context.Context) (Reader, error) { return o.openFormat(ctx, name, head[:n], s.File, s.Size) }
	return &ownedReader{Reader: r, close: s.Close, again: again, name: name, damage: s.Err, size: s.Size}, nil
}

// openFormat finds the format of head and opens it.
func (o *Opener) openFormat(ctx context.Context, name string, head []byte, src io.ReaderAt, size int64) (Reader, error) {
	switch {
	case size == 0 && name == stdinName:
		return nil, errors.New("stdin: is empty (0 bytes); check the command before the pipe")
	case size == 0 && !strings.EqualFold(filepath.Ext(strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")), ".json"):
		return nil, fmt.Errorf("%s: is empty (0 bytes): nothing was written or copied to it; copy the file again, or record the run again", name)
	case size == 0:
		return nil, fmt.Errorf("%s: is empty (0 bytes): perf_analyzer leaves such a file when an output holds NaN or infinity; record the run again", name)
	}
	for _, f := range o.Formats {
		if f.Sniff(head) {
			return f.Open(ctx, name, src, size, o.Limits)
		}
	}
	return nil, o.checkRecognized(name, head)
}

// checkRecognized returns an error unless a format recognizes head.
func (o *Opener) checkRecognized(name string, head []byte) error {
	for _, f := range o.Formats {
		if f.Sniff(head) {
			return nil
		}
	}
	return fmt.Errorf("%s: not an export: expected a JSON object with \"experiments\"%s, found %s", name, o.otherFormats(), describe(head))
}

// otherFormats lists the formats except profile_export.json, for messages.
func (o *Opener) otherFormats() string {
	var names []string
	for _, f := range o.Formats {
		if name := f.Name(); name != "" && name != "profile_export.json" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " or one of " + strings.Join(names, ", ")
}

// describe names the kind of a file that starts with head, for messages.
func describe(head []byte) string {
	const maxShown = 40
	text := strings.TrimLeft(string(head), "\ufeff \t\r\n")
	switch {
	case text == "":
		return "only white space"
	case spool.IsUTF16(head):
		return "text in UTF-16; save the file as UTF-8"
	case spool.Compression([]byte(text)) != "":
		return spool.Compression([]byte(text)) + " data within the compressed file"
	case strings.HasPrefix(text, "SQLite format 3\x00"):
		return "an SQLite database; EvalScope and AISBench write their figures into the JSON files beside it"
	}
	for _, c := range []struct{ magic, name, program string }{{"\xfd7zXZ\x00", "xz", "xz -d"}, {"BZh", "bzip2", "bzip2 -d"}, {"PK\x03\x04", "zip", "unzip"}} {
		if strings.HasPrefix(text, c.magic) {
			return c.name + " data; decompress the file first, with " + c.program
		}
	}
	kind := "a file"
	switch text[0] {
	case '{':
		kind = "a JSON object"
	case '[':
		kind = "a JSON array"
	}
	if len(text) > maxShown {
		return kind + " that starts with " + strconv.Quote(text[:maxShown])
	}
	return kind + " with the content " + strconv.Quote(text)
}

// Reopen returns a second Reader of the content of r, from the beginning. The second
// Reader has its own position and warnings. Close it before r. ok is false if r comes
// neither from an [Opener] nor from several Readers of one.
func Reopen(ctx context.Context, r Reader) (again Reader, ok bool, err error) {
	if x, is := r.(Reopener); is {
		return x.Reopen(ctx)
	}
	return nil, false, nil
}

// Reopen implements Reopener.
func (r *ownedReader) Reopen(ctx context.Context) (again Reader, ok bool, err error) {
	if again, err = r.again(ctx); err == nil && r.beside != "" {
		useSummaries(ctx, again, r.beside)
	}
	return again, true, err
}
