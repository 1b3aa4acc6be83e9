package workflow

import (
	"context"
	"log/slog"

	"github.com/perdure/perdure/internal/core"
)

// Logger returns the engine's logger (perdure.Logger) with the keys workflow_id, run_id
// and workflow. It is silent during replay, so a record is not written each time the run
// is loaded. A turn that a crash undoes runs again and logs again: records are written at
// least once.
//
// The logger belongs to the run; all its coroutines can keep and use it.
func Logger(wf *Context) *slog.Logger {
	wf.enter()
	i := wf.instance
	if i.logger == nil {
		s := i.run.Self()
		base := i.log
		if base == nil {
			base = slog.Default()
		}
		i.logger = slog.New(liveOnly{base.Handler(), i.run}).With("workflow_id", s.WorkflowID, "run_id", s.Run, "workflow", s.Type)
	}
	return i.logger
}

// liveOnly drops what is logged in a replay.
type liveOnly struct {
	slog.Handler
	run *core.Run
}

func (h liveOnly) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.run.Replaying() && h.Handler.Enabled(ctx, level)
}

func (h liveOnly) WithAttrs(attrs []slog.Attr) slog.Handler {
	return liveOnly{h.Handler.WithAttrs(attrs), h.run}
}

func (h liveOnly) WithGroup(name string) slog.Handler {
	return liveOnly{h.Handler.WithGroup(name), h.run}
}
