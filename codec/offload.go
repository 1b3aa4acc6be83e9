package codec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/see"
)

// Blobs keeps documents outside the database. Its methods are called concurrently. For a
// transient error store.Unavailable must report true.
type Blobs interface {
	// Put stores data under a name; it is durable when Put returns. The name is a digest
	// of data, so a blob that exists under it is the same; it then counts as put now.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns the data, or ErrNoBlob.
	Get(ctx context.Context, name string) ([]byte, error)
	// Names calls f with the name of every blob that was put last before a time.
	Names(ctx context.Context, before time.Time, f func(name string) error) error
	// Delete deletes a blob, unless it was put again at this time or later. It is not an
	// error if there is no such blob.
	Delete(ctx context.Context, name string, before time.Time) error
}

// ErrNoBlob means that there is no blob with the name.
var ErrNoBlob = errors.New("there is no such blob; restore it from a backup")

// Offload returns a codec that keeps documents of at least atLeast bytes in blobs; the
// database has their digest. Put it last, so that blobs are encrypted. Messages in
// inboxes stay in the database, because they are deleted soon.
//
// A blob is durable before the turn that needs it. A turn that is not written and a run
// that is deleted leave their blobs behind: Sweep removes them. A backup of the database
// needs the blobs of its time, so keep blobs as long as backups.
func Offload(atLeast int, blobs Blobs) Codec { return &offload{max(atLeast, 1), blobs} }

const offloadName = "blob"

type offload struct {
	atLeast int
	blobs   Blobs
}

func (*offload) Name() string { return offloadName }

func (*offload) open() {} // it hides nothing

func blobName(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (o *offload) Encode(ctx context.Context, at Place, data []byte) (Encoded, error) {
	if len(data) < o.atLeast || at.Kind == KindMessage || at.Kind == KindSwitch {
		return Encoded{}, nil
	}
	name := blobName(data)
	if err := o.blobs.Put(ctx, name, data); err != nil {
		return Encoded{}, err
	}
	return Encoded{Data: []byte{}, Label: name, Shown: "in blob " + name[:12]}, nil
}

func (o *offload) Decode(ctx context.Context, _ Place, e Encoded) ([]byte, error) {
	data, err := o.blobs.Get(ctx, e.Label)
	switch {
	case errors.Is(err, ErrNoBlob):
		return nil, fmt.Errorf("it is in the blob %s, which is missing; restore the blob and start again %s", e.Label, see.Decoding)
	case err != nil:
		return nil, err
	case blobName(data) != e.Label:
		return nil, fmt.Errorf("it is in the blob %s, whose bytes were changed; restore the blob and start again", e.Label)
	}
	return data, nil
}
