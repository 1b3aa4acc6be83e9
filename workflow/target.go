package workflow

import (
	"fmt"

	"github.com/perdure/perdure/internal/tell"
)

type (
	handle       = tell.Handle
	signalHandle = tell.SignalHandle
)

// Target is what queries and updates are sent to: a perdure.Handle, or a
// perduretest.Handle. Both stand for the latest run of a workflow ID.
type Target interface{ handle }

// SignalTarget is what signals are sent to: a Target, or what perdure.Handle.InTx
// returns.
type SignalTarget interface{ signalHandle }

// asked says which query or update failed.
func asked(verb, name string, to Target, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("perdure: %s %q of %q: %w", verb, name, tell.ID(to), err)
}
