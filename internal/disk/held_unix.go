//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// TryLock locks a file if no other process holds the lock, and does not wait. Closing the
// file or the end of the process releases the lock.
func TryLock(f *os.File) Lock {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		return Held
	case errors.Is(err, unix.EWOULDBLOCK):
		return Busy
	}
	return NoLocks
}

// IsAt reports whether path still leads to f.
func IsAt(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(held, there)
}

// RemoveHeld removes a locked file and then releases its lock, so that the next holder of
// the lock finds that the file is gone.
func RemoveHeld(f *os.File, path string) error {
	return errors.Join(os.Remove(path), f.Close())
}

// renameHeld renames a locked file and then releases its lock.
func renameHeld(f *os.File, to string) error {
	if err := os.Rename(f.Name(), to); err != nil {
		return errors.Join(err, RemoveHeld(f, f.Name()))
	}
	return f.Close()
}

// removeLeftover removes a temporary file if its process has ended: the lock is free then.
// On a file system without locks the file stays, because nobody can tell.
func removeLeftover(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && TryLock(f) == Held && IsAt(f, path) {
		_ = os.Remove(path)
	}
}

// openAtOnce opens a pipe or a device for writing, without waiting for a reader. Writing
// waits. It duplicates an inherited descriptor: opening the path would write over the beginning of
// a file to which the descriptor leads, and is impossible for a socket.
func openAtOnce(path string) (*os.File, error) {
	if fd, ok := inherited(path); ok {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(dup), path), nil
	}
	for {
		fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil {
			err = syscall.SetNonblock(fd, false)
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// lacksReader reports whether err says that no process reads a pipe.
func lacksReader(err error) bool { return errors.Is(err, syscall.ENXIO) }
