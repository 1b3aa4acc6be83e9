package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/perdure/perdure/internal/filelock"
)

// lock is the right to work in a directory. The operating system takes it back
// when the process dies, however it dies.
type lock struct{ file *os.File }

// errLocked says that another process has the lock.
var errLocked = errors.New("locked by another process")

func acquire(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the directory of the demo cannot be used: %w", err)
	}
	free, err := filelock.TryLock(file)
	switch {
	case err != nil:
		err = fmt.Errorf("%s cannot be locked: %w", path, err)
	case !free:
		err = errLocked
	default:
		return &lock{file}, nil
	}
	file.Close()
	return nil, err
}

// outlive tries to do what something hinders that will pass: another process has
// what this one needs, for as long as one whose parent was killed may take to notice
// that and to end; or a server is being restarted. Two services with one book, above
// all, must not be.
func outlive(ctx context.Context, try func() (passing bool, err error)) error {
	for deadline := time.Now().Add(10 * time.Second); ; {
		passing, err := try()
		if !passing || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *lock) release() { l.file.Close() }
