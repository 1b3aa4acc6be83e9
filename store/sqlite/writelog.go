package sqlite

import (
	"context"
	"encoding/binary"
	"os"
)

// A commit that lengthens SQLite's log takes twice as long to sync as one that overwrites
// it: the file system also has to record the new length and blocks. The log is overwritten
// from its beginning after each checkpoint, so only the first autocheckpoint pages are
// slow, and small commits suffer from it. They find space allocated ahead of them: zeros,
// in which SQLite sees the end of its log.
const (
	// autocheckpoint is the length of the log, in pages, at which SQLite writes it back and
	// restarts it. The log need not be longer.
	autocheckpoint = 8000
	// roomFrames is how much space is allocated at a time, and spareFrames how much of it
	// is left when more is allocated.
	roomFrames, spareFrames = 256, 128
	// roomStep is how much is written and synced at a time. A commit may have to wait for
	// one step.
	roomStep = 256 << 10
	// smallCommit is the maximum size, in pages, of commits that gain from the space. What
	// a larger commit writes costs as much as its sync, and would be written twice.
	smallCommit = 16
)

// zeros are what the space is filled with.
var zeros [roomStep]byte

// writeLog is SQLite's write-ahead log as its writer sees it. It exists while a connection
// is open.
type writeLog struct {
	file    *os.File // nil: it cannot be opened
	frame   int64    // length of a page with its header
	mark    int64    // once the frame with this number exists, more space is due
	commits int      // since the last mark
}

// The header of the log, and the position of the page size in it.
const (
	logHeader   = 32
	logPageSize = 8
	frameHeader = 24
)

// openLog opens the log of a file for the first time, after a commit. It returns nil if
// there is no log yet because the commit wrote nothing.
func openLog(path string) *writeLog {
	l := &writeLog{mark: roomFrames - spareFrames}
	file, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return l
	}
	var header [logHeader]byte
	if _, err := file.ReadAt(header[:], 0); err != nil {
		file.Close()
		return nil
	}
	l.file, l.frame = file, frameHeader+int64(binary.BigEndian.Uint32(header[logPageSize:]))
	return l
}

func (l *writeLog) close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
}

// at returns the position of a frame in the log.
func (l *writeLog) at(frame int64) int64 { return logHeader + frame*l.frame }

// committed notes a commit and reports whether to allocate space: the commits were small,
// and little space is left for more.
func (l *writeLog) committed() bool {
	if l.file == nil || l.mark >= autocheckpoint {
		return false
	}
	l.commits++
	var page [4]byte // page number of the frame; 0 and the end of the file mean no frame
	if n, _ := l.file.ReadAt(page[:], l.at(l.mark)); n < len(page) || page == [4]byte{} {
		return false
	}
	written := int64(roomFrames)
	if l.mark < roomFrames {
		written = l.mark // the first time
	}
	small := int64(l.commits)*smallCommit >= written
	l.mark, l.commits = l.mark+roomFrames, 0
	return small
}

// makeRoom lengthens the log after a commit if that is due. The caller holds the writer;
// the work runs later, when others need the writer less.
func (h *handle) makeRoom(c *conn) {
	if c.log == nil {
		c.log = openLog(h.path)
	}
	if c.log == nil || !c.log.committed() {
		return
	}
	log, until := c.log, c.log.at(c.log.mark+spareFrames)
	h.making.Go(func() {
		for h.lengthen(log, until) {
			if log.file.Sync() != nil { // so that no commit has to sync it
				return
			}
		}
	})
}

// lengthen adds a step to the log until it has the given length, and reports whether it
// did. Inside a write transaction only the caller may lengthen the log, and nothing uses
// what is beyond its end.
func (h *handle) lengthen(log *writeLog, until int64) (more bool) {
	err := h.hold(context.Background(), h.writer, "making room", func(c *conn) error {
		if c.log != log {
			return nil // the connection was reopened
		}
		return transact(c, func(c *conn) error {
			info, err := log.file.Stat()
			if err != nil {
				return err
			}
			if missing := until - info.Size(); missing > 0 {
				_, err = log.file.WriteAt(zeros[:min(missing, roomStep)], info.Size())
				more = err == nil
			}
			return err
		})
	})
	return more && err == nil
}
