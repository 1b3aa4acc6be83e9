package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure/store"
)

// roomy is an open file of which a node owns the partition.
type roomy struct {
	testing.TB
	*handle
	epoch int64
	runs  int
}

func newRoomy(t testing.TB) *roomy {
	t.Helper()
	s, err := File(filepath.Join(t.TempDir(), "test.db"), Exclusive()).Open(t.Context())
	w := &roomy{TB: t}
	w.must(err)
	t.Cleanup(func() { s.Close() })
	w.handle = s.(*handle)
	w.must(w.Join(t.Context(), store.Node{ID: "n"}))
	owned, err := w.Claim(t.Context(), "n", []int{0})
	w.must(err)
	w.epoch = owned[0].Epoch
	return w
}

func (w *roomy) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// commit begins so many runs in one commit.
func (w *roomy) commit(n, bytes int) {
	w.Helper()
	turns := make([]store.Turn, n)
	for i := range turns {
		w.runs++
		turns[i] = store.Turn{Epoch: w.epoch, Create: aRun(fmt.Sprintf("run-%06d", w.runs), bytes)}
		turns[i].Run = turns[i].Create.ID
	}
	w.must(insist(func() error {
		result, err := w.Commit(w.Context(), turns)
		return errors.Join(append(result.Errors, err)...)
	}))
}

// insist repeats what could not have the write lock: SQLite gives it to whoever asks at the
// right moment.
func insist(do func() error) error {
	for {
		if err := do(); !store.Unavailable(err) {
			return err
		}
	}
}

func aRun(id string, size int) *store.Run {
	return &store.Run{ID: id, WorkflowID: "of " + id, Type: "test", Chain: id, Attempt: 1,
		Start: bytes.Repeat([]byte("x"), size), RunState: store.RunState{Status: store.Running}}
}

// length is that of the log.
func (w *roomy) length() int64 {
	w.Helper()
	info, err := os.Stat(w.path + "-wal")
	w.must(err)
	return info.Size()
}

// room is how many bytes of the log, at its end, are zeros.
func (w *roomy) room() int {
	w.Helper()
	content, err := os.ReadFile(w.path + "-wal")
	w.must(err)
	return len(content) - len(bytes.TrimRight(content, "\x00"))
}

// TestE142_SmallCommitsFindRoom: once there were some, none makes the log longer.
func TestE142_SmallCommitsFindRoom(t *testing.T) {
	w := newRoomy(t)
	const commits = 150
	longer := 0
	for range commits {
		before := w.length()
		w.commit(1, 10)
		if w.length() > before { // be it that room was made already, which is rare
			longer++
		}
		w.making.Wait()
	}
	if least := int64(3 * roomFrames * 4096); w.length() < least {
		t.Fatalf("the log is %d bytes long, so this shows little", w.length())
	}
	if room := w.room(); room < roomStep/2 || longer > commits/4 {
		t.Errorf("%d of %d commits made the log longer, and %d bytes of room are left", longer, commits, room)
	}
}

// What large commits write they need not write twice.
func TestE142_LargeCommitsMakeNoRoom(t *testing.T) {
	w := newRoomy(t)
	for range 20 {
		w.commit(60, 4000)
		w.making.Wait()
		if room := w.room(); room > roomStep/2 { // a page may end with some
			t.Fatalf("%d bytes of room were made", room)
		}
	}
}

// TestE142_RoomIsNoPartOfTheLog: a crash leaves what was committed, be it that room was made
// while other connections committed.
func TestE142_RoomIsNoPartOfTheLog(t *testing.T) {
	w := newRoomy(t)
	other, err := File(w.path, Exclusive()).Open(t.Context())
	w.must(err)
	defer other.Close()
	var others sync.WaitGroup
	const each = 300
	others.Go(func() {
		for i := range each {
			run := *aRun(fmt.Sprintf("other-%06d", i), 10)
			if err := insist(func() error { return other.Create(t.Context(), run) }); err != nil {
				t.Error(err)
			}
		}
	})
	for range each {
		w.commit(1, 10)
	}
	others.Wait()
	w.making.Wait()
	if w.room() < roomStep/2 {
		t.Fatal("there is no room, so this shows nothing")
	}
	left := filepath.Join(t.TempDir(), "left.db")
	for _, ending := range []string{"", "-wal"} {
		content, err := os.ReadFile(w.path + ending)
		w.must(err)
		w.must(os.WriteFile(left+ending, content, 0o600))
	}
	s, err := File(left, Exclusive()).Open(t.Context())
	w.must(err)
	defer s.Close()
	w.must(s.(*handle).read(t.Context(), "a test", func(c *conn) error {
		var runs int64
		if _, err := c.one(`SELECT count(*) FROM runs`, []*int64{&runs}); err != nil || runs != 2*each {
			t.Errorf("%d runs are left of %d: %v", runs, 2*each, err)
		}
		return c.query(t.Context(), `PRAGMA integrity_check`, func(r row) error {
			if r.text(0) != "ok" {
				t.Error(r.text(0))
			}
			return nil
		})
	}))
}

// A log that is there already, such as one that a crash left, gets room behind its end.
func TestE142_ALogThatIsThereGetsRoom(t *testing.T) {
	w := newRoomy(t)
	for range 20 {
		w.commit(60, 4000)
	}
	w.making.Wait()
	c, err := w.writer.get(t.Context())
	w.must(err)
	w.must(c.log.close())
	c.log = nil // as of a new connection
	w.writer.put(c, false)
	for range 100 {
		w.commit(1, 10)
		w.making.Wait()
	}
	if w.room() < roomStep/2 {
		t.Error("no room was made")
	}
}
