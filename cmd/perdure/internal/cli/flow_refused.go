package cli

import (
	"context"
	"log/slog"
)

// refusals says which calls wait because the command does not allow what they need. Of what
// an engine logs it shows nothing else.
type refusals struct {
	slog.Handler // nil: a handler of an engine gets no groups
	scr          *screen
}

// Enabled reports whether a level is handled.
func (r *refusals) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// WithAttrs returns the same handler: what is shown stands in each record.
func (r *refusals) WithAttrs([]slog.Attr) slog.Handler { return r }

// Handle shows a record about a call that waits.
func (r *refusals) Handle(_ context.Context, record slog.Record) error {
	said := map[string]string{}
	record.Attrs(func(attr slog.Attr) bool {
		said[attr.Key] = attr.Value.String()
		return true
	})
	switch said["event"] {
	case "activity_refused":
		r.scr.notef("%s waits at @%s: %s\n", said["workflow_id"], said["activity"], said["reason"])
	case "activity_missing":
		r.scr.notef("Runs wait for the action @%s, which this process does not have.\n", said["activity"])
	}
	return nil
}
