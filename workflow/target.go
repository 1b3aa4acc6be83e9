package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/tell"
)

type (
	handle       = tell.Handle
	signalHandle = tell.SignalHandle
)

// Target is the receiver of a query or an update: a perdure.Handle or a
// perduretest.Handle. Both refer to the latest run of a workflow ID.
type Target interface{ handle }

// SignalTarget is the receiver of a signal: a Target, or the result of
// perdure.Handle.InTx.
type SignalTarget interface{ signalHandle }

// asked says which query or update failed.
func asked(verb, name string, to Target, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("perdure: %s %q of %q: %w", verb, name, tell.ID(to), err)
}
