package codec

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/retry"
)

// Codec encodes documents on their way into the database and decodes them on their way back.
// What it returns must be another form of the whole document: engines compare nothing that is
// encoded, so encoding the same twice may give two results. Its methods are called
// concurrently. A panic is an error that names the codec.
//
// An error of Encode prevents a turn from being written, and an error of Decode a
// document from being read: the run is parked. People read these errors, so they should
// say what to do. An error for which store.Unavailable reports true, or the error of ctx,
// is transient: the engine tries again, and nothing is parked.
type Codec interface {
	// Name is stored in each document that the codec encoded and says which codec decodes
	// it. It must never change.
	Name() string
	// Encode returns the encoded form of data, or the zero Encoded to leave data as it is.
	Encode(ctx context.Context, at Place, data []byte) (Encoded, error)
	// Decode returns what was given to Encode.
	Decode(ctx context.Context, at Place, e Encoded) ([]byte, error)
}

// Encoded is the encoded form of a document.
type Encoded struct {
	Data []byte // nil: the codec left it as it was
	// Label is kept beside Data, in clear: the name of a key, say.
	Label string
	// Shown is displayed to people who cannot decode the document, such as "encrypted,
	// key 2026-11". Decode does not get it.
	Shown string
}

// The kinds of documents.
const (
	KindStart   = "start"   // the start event of a run: its input, memo, what it carries on
	KindTurn    = "turn"    // a turn of a history
	KindState   = "state"   // how a run stands: its result, error, custom status
	KindCall    = "call"    // a call that waits, with its last error and heartbeat
	KindAttempt = "attempt" // an attempt in the ledger
	KindMessage = "message" // in an inbox, until it is read
	KindSwitch  = "switch"  // why an activity was paused
)

// Place identifies a document of a run. It is the same whenever the document is read,
// even from the copy in a run that was reset or forked.
type Place struct {
	Kind       string // see KindStart
	WorkflowID string // of a start event or message; else empty
	Run        string // run ID of who wrote it; empty of a message or switch
	Item       string // which one of this kind: the number of a turn or a call
}

// String returns a unique name of the place.
func (p Place) String() string {
	var b strings.Builder
	for _, s := range []string{p.Kind, p.WorkflowID, p.Run, p.Item} {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}

// guarded calls a codec and names it in its error. A panic is an error.
func guarded(c Codec, doing string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = retry.NewPanicError(v)
		}
		if err != nil {
			err = fmt.Errorf("the codec %q cannot %s it: %w", c.Name(), doing, err)
		}
	}()
	return f()
}
