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
// An error of Encode keeps a turn from being written: the run is parked. An error of Decode
// parks the run of which the document is. Both say what to do: people read them. An error
// for which store.Unavailable reports true, or that of ctx, is for now: the engine tries
// again, and nothing is parked.
type Codec interface {
	// Name stands in each document that the codec encoded and says which codec decodes it.
	// It never changes.
	Name() string
	// Encode returns the encoded form of data, or the zero Encoded to leave data as it is.
	Encode(ctx context.Context, at Place, data []byte) (Encoded, error)
	// Decode returns what was given to Encode.
	Decode(ctx context.Context, at Place, e Encoded) ([]byte, error)
}

// Encoded is what a codec made of a document.
type Encoded struct {
	Data []byte // nil: the codec left it as it was
	// Label is kept beside Data, in clear: the name of a key, say.
	Label string
	// Shown is what people are told who cannot decode it: "encrypted, key 2026-11". Decode
	// does not get it.
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

// Place says which document of which run something is. It is the same when the document
// is read again, in a run, too, that was reset or forked and has a copy.
type Place struct {
	Kind       string // see KindStart
	WorkflowID string // of a start event or message; else empty
	Run        string // run ID of who wrote it; empty of a message or switch
	Item       string // which one of this kind: the number of a turn or a call
}

// String names the place so that no two places have one name.
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
