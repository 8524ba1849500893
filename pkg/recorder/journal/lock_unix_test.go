//go:build unix

package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
)

// Two runs that both found no journal, with and without --overwrite: one has it,
// the other is refused and touches nothing.
func TestTwoRunsAtOnce(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "x.json")
		var both [2]*Writer
		for i := range both {
			var err error
			if both[i], err = newTestWriter(path, overwrite); err != nil {
				t.Fatal(err)
			}
		}
		first, second := both[0], both[1]
		openWriter(t, first)
		if _, err := first.file.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		err := second.Open(t.Context(), &export.Run{})
		if !errors.Is(err, ErrBusy) {
			t.Fatalf("overwrite %v: the second: %v, want a refusal", overwrite, err)
		}
		if got, err := os.ReadFile(first.path); string(got) != "x" || !disk.IsAt(first.file, first.path) {
			t.Errorf("overwrite %v: the journal is %q, %v, in place %v; want the first run's", overwrite, got, err, disk.IsAt(first.file, first.path))
		}
		first.Discard()
		if _, err := os.Lstat(first.path); err == nil {
			t.Errorf("overwrite %v: the journal is there after it was discarded", overwrite)
		}
	}
}

// Of many runs that open one journal at the same time, one at a time has it.
func TestManyRunsAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	const runs, rounds = 8, 50
	var holders sync.Mutex
	var wg sync.WaitGroup
	for range runs {
		wg.Go(func() {
			for range rounds {
				f, err := takeFile(path, true, false)
				if errors.Is(err, ErrBusy) {
					continue
				}
				if err != nil {
					t.Errorf("%v, want the file or ErrBusy", err)
					return
				}
				if !holders.TryLock() {
					t.Error("two have the file at once")
					return
				}
				if !disk.IsAt(f, path) {
					t.Error("the file was removed under its holder")
				}
				holders.Unlock()
				if err := disk.RemoveHeld(f, path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A file that appears after NewWriter looked is respected when the journal is opened.
func TestOpenLooksAgain(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		content    string
		overwrite  bool
		want       error // its reason; nil: none
	}{
		{"a leftover journal", "x.journal", "old", false, ErrLeftover},
		{"a leftover journal, to be replaced", "x.journal", "old", true, nil},
		{"a journal without content", "x.journal", "", false, nil},
		{"an export", "x.json", "old", false, ErrExists},
		{"an export, to be replaced", "x.json", "old", true, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			r, err := newTestWriter(filepath.Join(dir, "x.json"), tt.overwrite)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, tt.file)
			if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err = r.Open(t.Context(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}})
			if tt.want != nil {
				got, rerr := os.ReadFile(file)
				if !errors.Is(err, tt.want) || rerr != nil || string(got) != tt.content {
					t.Errorf("%v, file %q, %v; want %v and the file as it was", err, got, rerr, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			recordOne(t, r)
			if _, requests := exporttest.Read(t, filepath.Join(dir, "x.json")); len(requests) != 1 {
				t.Errorf("%d requests, want 1", len(requests))
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
				t.Errorf("files %q, want the export alone", left)
			}
		})
	}
}

// A link in the journal's place is not followed.
func TestJournalIsLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := newTestWriter(filepath.Join(dir, "x.json"), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, r.path); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context(), &export.Run{}); err == nil {
		t.Error("opened; want an error")
	}
	if _, err := newTestWriter(filepath.Join(dir, "x.json"), true); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v, want a refusal", err)
	}
	if got, err := os.ReadFile(victim); !bytes.Equal(got, []byte("precious")) {
		t.Errorf("the file behind the link is %q, %v", got, err)
	}
}
