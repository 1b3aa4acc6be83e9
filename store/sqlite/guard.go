package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
)

// A file that is deleted or replaced lives on for the process that has it open: SQLite writes
// to it, and all is lost when it is closed. The same holds for a lock: another engine takes
// that of the new file. So each verb looks whether the names still lead to what is open.

// errGone says that the file is not the one that was opened.
var errGone = errors.New("the file was deleted or replaced while it was open, and what is written now would be lost: stop the process, put the file back, and start again " + see.SQLite)

// guard knows what a handle has open.
type guard struct {
	mu   sync.Mutex
	file os.FileInfo // of the database
	lock *fileLock   // nil unless a node has joined
	node string      // which
	lost error       // why that node does not serve the file any more

	looked time.Time // when intact last found nothing wrong
}

// lookAgain is how long reads trust the last look, which costs as much as a third of a short
// one. What is written is acknowledged only after a look.
const lookAgain = 100 * time.Millisecond

// fresh reports whether the last look is fresh enough for a read.
func (g *guard) fresh() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Since(g.looked) < lookAgain
}

// open notes which file was opened.
func (g *guard) open(path string) (err error) {
	g.file, err = os.Stat(path)
	return err
}

// join notes that a node has joined with a lock.
func (g *guard) join(node string, lock *fileLock) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.node, g.lock = node, lock
}

// leave releases the lock, if there is one.
func (g *guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lock != nil {
		g.lock.release()
	}
	g.node, g.lock = "", nil
}

// holder describes the node that has joined, "" for none.
func (g *guard) holder() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lock == nil {
		return ""
	}
	return g.lock.holder
}

// same reports whether a name leads to a file. A file system that does not say is no reason to
// stop.
func same(path string, file os.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, file) || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// intact returns an error if the file or the lock is no longer what the handle has open. A lock
// that was removed is taken again. c is nil if there is no connection.
func (h *handle) intact(op string, c *conn) error {
	g := &h.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lost == nil && g.lock != nil && c != nil {
		g.lost = h.relock(c)
	}
	lost := g.lost
	if g.file != nil && !same(h.path, g.file) {
		lost = errGone
	}
	if lost == nil {
		g.looked = time.Now()
		return nil
	}
	return &store.UnavailableError{Op: op, Err: fmt.Errorf("%s: %w", h.path, lost), Refused: true, Gone: true}
}

// relock takes the lock again if its file was removed or replaced. It returns an error if
// another engine has served the file meanwhile. The guard's mu is held.
func (h *handle) relock(c *conn) error {
	g := &h.guard
	mine, err := g.lock.file.Stat()
	if err != nil || same(h.path+".lock", mine) {
		return nil
	}
	lock, err := acquire(h.path+".lock", h.info.Location, g.lock.holder)
	if err != nil {
		return fmt.Errorf("%s.lock was removed or replaced, and another engine may have taken it; stop this one: %w", h.path, err)
	}
	g.lock.file.Close()
	g.lock = lock
	member := false
	err = c.query(context.Background(), `SELECT 1 FROM nodes WHERE id = ? AND departed IS NULL`, func(row) error {
		member = true
		return nil
	}, g.node)
	if err == nil && !member {
		return fmt.Errorf("%s.lock was removed or replaced, and another engine has served the file since; start this one again", h.path)
	}
	return nil
}
