package serve

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/retry"
)

// A task may be unreadable here: its key or its blob is missing, the blob storage is
// unavailable, or a later version wrote it. The server gives it back, because another worker
// may be able to read it, and claims no tasks of its activity for a while; the pause grows
// with each unreadable task. After the pause it claims one task. If it can read that, it
// claims all again. It forgets the count of failures when reading has worked for as long as
// the last pause: among many readable tasks there may be one that is not.

// unreadable is the state of an activity whose tasks cannot be read here.
type unreadable struct {
	err      error
	until    time.Time // when the next task is tried
	failures int
	open     bool // a task was read since
}

// forgotten reports whether reading has worked for long enough to forget the failures.
func (u *unreadable) forgotten() bool {
	return u.open && time.Since(u.until) > readAgain.Delay(u.failures)
}

// readAgain is the backoff after tasks of an activity that could not be read.
var readAgain = retry.Exponential(20*time.Second, 2, 10*time.Minute)

// cannotRead records that a task cannot be read here. Tasks that were claimed together count
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
		defer s.config.Log.AttemptUnreadable(activity, rest, err)
	}
	s.mu.Unlock()
}

// canRead records that a task of an activity was read.
func (s *Server) canRead(activity string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, is := s.unread[activity]
	if !is || time.Now().Before(u.until) { // it was claimed together with unreadable ones
		return
	}
	if u.open = true; u.forgotten() {
		delete(s.unread, activity)
	} else {
		s.unread[activity] = u
	}
}

// claimable returns the activities whose tasks may be claimed, and those of which one task may
// be claimed as a trial because one could not be read here. While a suspect of an activity
// runs here, no other task of it is claimed: it would be what ends the process.
func (s *Server) claimable() (names, doubtful []string) {
	s.mu.Lock()
	suspected := map[string]bool{}
	for _, h := range s.held {
		if h.counts {
			suspected[h.task.Name] = suspected[h.task.Name] || h.task.Suspect && !h.cleared
		}
	}
	for _, name := range s.config.Activities {
		switch u, is := s.unread[name]; {
		case suspected[name]:
		case !is || u.open:
			names = append(names, name)
		case !time.Now().Before(u.until):
			doubtful = append(doubtful, name)
		}
	}
	s.mu.Unlock() // what follows takes a lock that is held while this server is notified
	names = slices.DeleteFunc(names, func(name string) bool { return s.isDoubted(name) || s.config.Paused(name) })
	return names, slices.DeleteFunc(doubtful, s.config.Paused)
}

func (s *Server) isDoubted(name string) bool {
	_, is, _ := s.config.Doubted(name)
	return is
}

// tried returns the activities of which one task may be claimed because workers died with
// their calls, in the order in which they are tried. One task of all of them runs at a time,
// so that it is known which one the process died with.
func (s *Server) tried() (names []string) {
	deaths := map[string]int{}
	for _, name := range s.config.Activities {
		if n, is, try := s.config.Doubted(name); is && try && !s.config.Paused(name) {
			deaths[name] = n
		}
	}
	if len(deaths) == 0 {
		return nil
	}
	s.mu.Lock()
	var running []string
	for _, h := range s.held {
		if h.counts && !h.cleared {
			running = append(running, h.task.Name)
		}
	}
	s.mu.Unlock()
	if slices.ContainsFunc(running, s.isDoubted) {
		return nil
	}
	return slices.SortedFunc(maps.Keys(deaths), func(a, b string) int { return cmp.Or(cmp.Compare(deaths[a], deaths[b]), cmp.Compare(a, b)) })
}

// unreadHealth returns which tasks this process leaves to others because it cannot read them.
// The server's mu is held.
func (s *Server) unreadHealth() error {
	for name, u := range s.unread {
		if time.Now().Before(u.until) {
			return fmt.Errorf("an attempt of activity %q could not be read by this process, which leaves them to others and tries one again at %s: %w",
				name, u.until.UTC().Format(time.TimeOnly), u.err)
		}
	}
	return nil
}
