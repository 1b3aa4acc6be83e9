package serve

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/retry"
)

// A task may be unreadable here: its key or its blob is missing, what keeps blobs is away, or
// it is of a later version. It is given back, for others may be able to read it, and tasks
// of its activity are left to them for a while, which grows with each that is unreadable.
// After that one task is claimed to see; if it can be read, all are claimed again. How often
// that went wrong is forgotten when it has gone well for as long as the last wait: among many
// tasks that can be read there may be one that cannot.

// unreadable is what is known of an activity whose tasks cannot be read here.
type unreadable struct {
	err      error
	until    time.Time // when the next one is tried
	failures int
	open     bool // one was read since
}

// forgotten reports whether it has gone well for long enough.
func (u *unreadable) forgotten() bool {
	return u.open && time.Since(u.until) > readAgain.Delay(u.failures)
}

// readAgain is for how long no tasks of an activity are claimed after some that could not
// be read.
var readAgain = retry.Exponential(20*time.Second, 2, 10*time.Minute)

// cannotRead notes that a task cannot be read here. Tasks that were claimed together count
// once.
func (s *Server) cannotRead(activity string, err error) {
	if err == nil {
		err = errors.New("it is of a version that this one does not know")
	}
	s.mu.Lock()
	u := s.unread[activity]
	if !time.Now().Before(u.until) {
		if u.forgotten() {
			u.failures = 0
		}
		u.failures++
		rest := readAgain.Delay(u.failures)
		s.unread[activity] = unreadable{err, time.Now().Add(rest), u.failures, false}
		defer s.config.Unreadable(activity, rest, err)
	}
	s.mu.Unlock()
}

// canRead notes that a task of an activity was read.
func (s *Server) canRead(activity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, is := s.unread[activity]
	if !is || time.Now().Before(u.until) { // of those that were claimed together
		return
	}
	if u.open = true; u.forgotten() {
		delete(s.unread, activity)
	} else {
		s.unread[activity] = u
	}
}

// claimable returns the activities whose tasks may be claimed, and those of which one may be
// claimed to see whether it can be read.
func (s *Server) claimable() (names, doubtful []string) {
	s.mu.Lock()
	for _, name := range s.config.Activities {
		switch u, is := s.unread[name]; {
		case !is || u.open:
			names = append(names, name)
		case !time.Now().Before(u.until):
			doubtful = append(doubtful, name)
		}
	}
	s.mu.Unlock() // who is asked now has locks of its own, under which this server is told of news
	return slices.DeleteFunc(names, s.config.Paused), slices.DeleteFunc(doubtful, s.config.Paused)
}

// unreadHealth says which tasks are left to others because they cannot be read here. The
// server's mu is held.
func (s *Server) unreadHealth() error {
	for name, u := range s.unread {
		if time.Now().Before(u.until) {
			return fmt.Errorf("an attempt of activity %q could not be read by this process, which leaves them to others and tries one again at %s: %w",
				name, u.until.UTC().Format(time.TimeOnly), u.err)
		}
	}
	return nil
}
