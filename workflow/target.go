package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
)

type (
	handle       = seal.Handle
	signalHandle = seal.SignalHandle
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
	return fmt.Errorf("perdure: %s %q of %q: %w", verb, name, seal.WorkflowID(to), err)
}

// encodeInput returns the payload of an input. A nil json.RawMessage gives the zero payload,
// so that tools can omit the input.
func encodeInput(v any) (history.Payload, error) {
	if raw, is := v.(json.RawMessage); is && raw == nil {
		return history.Payload{}, nil
	}
	return history.EncodeArgument("input", v)
}
