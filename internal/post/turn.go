package post

import (
	"slices"

	"github.com/perdure/perdure/internal/core"
)

// OneTurn returns how many of the first messages go into one turn. A request for a reset has a turn
// to itself, so that everything before it is in the history. A turn takes at most one end of an
// attempt with a transaction, so that a failure of the transaction belongs to that attempt.
func OneTurn(all []Mail) int {
	commits := false
	for i, m := range all {
		if m.Resets() {
			return max(i, 1)
		}
		if m.Transaction != nil && commits {
			return i
		}
		commits = commits || m.Transaction != nil
	}
	return len(all)
}

// Resets reports whether mail asks for the reset of its run.
func (m Mail) Resets() bool {
	in, is := m.Input.(core.Control)
	return is && in.Operation == core.ResetTheRun
}

// Ends reports whether mail ends its run without running code.
func Ends(all []Mail) bool {
	return slices.ContainsFunc(all, func(m Mail) bool {
		in, is := m.Input.(core.Control)
		return is && in.Operation == core.TerminateTheRun
	})
}

// WithoutUnread takes ends of attempts out of mail that cannot be read, but not those that come too
// late anyway, because the run does not await them. It returns the first, nil if there is none.
func WithoutUnread(all []Mail, awaits func(core.AttemptRef) bool) (rest []Mail, first *UnreadEnd) {
	if !slices.ContainsFunc(all, func(m Mail) bool { return m.Unread != nil }) {
		return all, nil // the usual case
	}
	rest = slices.DeleteFunc(slices.Clone(all), func(m Mail) bool {
		if m.Unread == nil || m.Unread.Call != 0 && !awaits(m.Unread.AttemptRef) {
			return false
		}
		if first == nil {
			first = m.Unread
		}
		return true
	})
	return rest, first
}

// TakesAny reports whether a run can take any of its deferred mail now.
func TakesAny(run *core.Run, deferred []Mail) bool {
	return slices.ContainsFunc(deferred, func(m Mail) bool { return m.Input == nil || run.Takes(m.Input) })
}

// Split divides the mail of a turn into what the turn consumes and what is deferred: for this
// run, or for the next run of the chain if this one has ended.
func Split(out *core.Turn, todo []Mail) (taken, deferred []Mail) {
	if len(out.Deferred) == 0 {
		return todo, nil
	}
	for i, m := range todo {
		if slices.Contains(out.Deferred, i+1) && (m.Latest != "" || !out.Ended) {
			deferred = append(deferred, m)
		} else {
			taken = append(taken, m)
		}
	}
	return taken, deferred
}
