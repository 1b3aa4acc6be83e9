package sqlite

import (
	"context"
	"encoding/binary"
	"os"
)

// A commit that makes SQLite's log longer takes twice as long to sync as one that
// overwrites: the file system has to put the new length and the new blocks on record, too.
// The log is overwritten from its beginning after each checkpoint, so it is the first
// autocheckpoint pages that are slow, and small commits that feel it. They find room that
// was made ahead of them: zeros, in which SQLite sees the end of its log.
const (
	// autocheckpoint is how many pages the log has when SQLite writes it back and begins
	// it again. So it need not be longer.
	autocheckpoint = 8000
	// roomFrames is how much room is made at a time, and spareFrames how much of it is
	// left when more is made.
	roomFrames, spareFrames = 256, 128
	// roomStep is how much is written and synced at a time: a commit may wait for that.
	roomStep = 256 << 10
	// smallCommit is how many pages a commit may have that is faster with room. What a
	// larger one writes costs as much as its sync, and would be written twice.
	smallCommit = 16
)

// zeros are what room is made of.
var zeros [roomStep]byte

// writeLog is SQLite's write-ahead log as its writer looks at it. It exists for as long as
// a connection is open.
type writeLog struct {
	file    *os.File // nil: it cannot be opened
	frame   int64    // length of a page with its header
	mark    int64    // when the frame of this number is there, more room is due
	commits int      // since the last mark
}

// The header of the log, and where in it the size of a page is.
const (
	logHeader   = 32
	logPageSize = 8
	frameHeader = 24
)

// openLog looks at the log of a file for the first time, after a commit. It returns nil if
// that wrote nothing and there is no log yet.
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

// at is where in the log a frame is.
func (l *writeLog) at(frame int64) int64 { return logHeader + frame*l.frame }

// committed is told of a commit, and reports whether room is to be made: the commits were
// small, and little room is left for more of them.
func (l *writeLog) committed() bool {
	if l.file == nil || l.mark >= autocheckpoint {
		return false
	}
	l.commits++
	var page [4]byte // of which the frame is; 0 and the end of the file are no frame
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

// makeRoom makes the log longer after a commit, if that is due. The caller holds the
// writer; the work is done when others need it less.
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
			if log.file.Sync() != nil { // so that no commit has to
				return
			}
		}
	})
}

// lengthen adds a step to the log until it has a length, and reports whether it did. In a
// write transaction nobody else makes it longer: what is beyond its end belongs to nobody.
func (h *handle) lengthen(log *writeLog, until int64) (more bool) {
	err := h.hold(context.Background(), h.writer, "making room", func(c *conn) error {
		if c.log != log {
			return nil // the connection was opened again
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
