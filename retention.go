package perdure

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/bridge"
	"github.com/perdure/perdure/view"
)

type (
	// Retention says how long what is over is kept, by how it ended. The zero value
	// keeps all for ever.
	Retention = view.Retention
	// SweepResult says what Engine.Sweep removed, or would.
	SweepResult = view.SweepResult
)

// Retain removes what is over for long enough: runs with their histories, attempts,
// audits and the IDs of signals they have seen, counters, and entries of the log of
// paused activities. Without it all of that is kept for ever.
//
// Every node does that for the partitions that it owns, every ten minutes, a few runs
// at a time and with pauses, so that others notice little of it. An open run is never
// removed; the runs before it in its chain are only if Retention.Continued says so.
// When the last run of a workflow ID is removed the ID can be used anew, and a start
// that comes again does not find its run any more: keep runs for longer than anybody
// asks again.
func Retain(keep Retention) Option { return func(s *bridge.Settings) { s.Retention = keep } }

// Sweep removes at once what the retention does not keep, of all partitions of the
// group. It works beside engines, in small batches. Of the options it takes DryRun: to
// say only which runs that would be. If it ends with an error, the result says how far
// it came.
func (e *Engine) Sweep(ctx context.Context, keep Retention, options ...ControlOption) (SweepResult, error) {
	var s controlSettings
	for _, o := range options {
		o(&s)
	}
	if s.ID != "" || s.Control.By != "" || s.Reason != "" {
		return SweepResult{}, errors.New("perdure: sweep: of the options only DryRun has a meaning here")
	}
	result, err := e.inner.Sweep(ctx, keep, s.dry)
	if err != nil {
		return result, fmt.Errorf("perdure: sweep: %w", err)
	}
	return result, nil
}
