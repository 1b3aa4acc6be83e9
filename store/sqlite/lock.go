package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/filelock"
	"github.com/perdure/perdure/store"
)

// fileLock is the right to be the engine of a database. The operating system
// takes it back when the process dies, however it dies.
type fileLock struct {
	file   *os.File
	holder string // who has it, which is also what the file says
}

// Looking whether the lock is taken takes it for a moment. So that this
// hinders no engine, one tries a few times.
const (
	looks    = 4
	lookTime = 5 * time.Millisecond
)

// held reports whether an engine has the lock; if that cannot be told, it has.
func held(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	free, err := filelock.TryShare(file)
	if free {
		filelock.Unlock(file)
	}
	return err != nil || !free
}

// acquire takes the lock or returns who has it.
func acquire(path, location, holder string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the lock of the database cannot be opened: %w", err)
	}
	free, err := filelock.TryLock(file)
	for range looks {
		if err != nil || free {
			break
		}
		time.Sleep(lookTime)
		free, err = filelock.TryLock(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("the file system cannot lock %s, so it cannot be told whether another engine uses the database: %w", path, err)
	}
	if !free {
		defer file.Close()
		other, _ := io.ReadAll(io.LimitReader(file, 1024))
		text := strings.TrimSpace(string(other))
		if text == "" {
			text = "it has just started"
		}
		return nil, &store.InUseError{Location: location, Holder: text}
	}
	// What the file says is for people. It may be left from a process that
	// died: only the lock counts.
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(holder+"\n"), 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &fileLock{file, holder}, nil
}

// release gives the lock back. The file stays: removing it would let two
// engines lock two files of one name.
func (l *fileLock) release() {
	l.file.Truncate(0) // so that it names no process
	filelock.Unlock(l.file)
	l.file.Close()
}
