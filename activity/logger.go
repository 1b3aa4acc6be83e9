package activity

import (
	"context"
	"log/slog"
	"strings"

	"github.com/perdure/perdure/internal/seal"
)

// Logger returns the logger of the engine (perdure.Logger) with keys for the attempt that
// runs in ctx: workflow_id, run_id, workflow, call, activity and attempt. The engine's
// own records have the same keys. Outside an activity or step it returns slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	l := seal.Logger(ctx)
	info, ok := FromContext(ctx)
	if !ok {
		return l
	}
	call := info.CallID[strings.LastIndexByte(info.CallID, '/')+1:]
	return l.With("workflow_id", info.WorkflowID, "run_id", info.RunID, "workflow", info.Workflow,
		"call", call, "activity", info.Activity, "attempt", info.Attempt)
}
