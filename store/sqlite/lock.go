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
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// fileLock is the right to be the engine of a database. The operating system releases it
// when the process dies in any way.
type fileLock struct {
	file   *os.File
	holder string // the holder's name, as in the file
}

// A check whether the lock is taken takes it for a moment. So that this stops no engine,
// acquire tries a few times.
const (
	looks    = 4
	lookTime = 5 * time.Millisecond
)

// held reports whether an engine has the lock. If that is unknown, it returns true.
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

// acquire takes the lock, or returns its holder.
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
		return nil, fmt.Errorf("the file system cannot lock %s, so it cannot be told whether another engine uses the database %s: %w", path, see.SQLite, err)
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
	// The content of the file is for people. A process that died may have left it: only the
	// lock counts.
	if err = file.Truncate(0); err == nil {
		_, err = file.WriteAt([]byte(holder+"\n"), 0)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &fileLock{file, holder}, nil
}

// release releases the lock. The file stays, because otherwise two engines could lock two
// files of the same name.
func (l *fileLock) release() {
	l.file.Truncate(0) // it names no process any more
	filelock.Unlock(l.file)
	l.file.Close()
}
