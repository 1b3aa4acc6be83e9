package codec

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"sync"
)

// Compress returns a codec that compresses documents of at least atLeast bytes with
// DEFLATE. Documents that do not get smaller stay as they are. Put it before AES:
// encrypted bytes do not get smaller. The length of an encrypted document reveals how
// well it compresses; do not compress documents in which a stranger's text stands beside
// a secret.
func Compress(atLeast int) Codec {
	return &compressor{atLeast: max(atLeast, 1), writers: sync.Pool{New: func() any {
		w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level exists
		return w
	}}}
}

// maxDocument is how long a document may be that is decompressed, in bytes. A turn has many
// values.
const maxDocument = 1 << 30

type compressor struct {
	atLeast int
	writers sync.Pool
}

func (*compressor) Name() string { return "deflate" }

func (*compressor) open() {} // it hides nothing

func (c *compressor) Encode(_ context.Context, _ Place, data []byte) (Encoded, error) {
	if len(data) < c.atLeast {
		return Encoded{}, nil
	}
	w := c.writers.Get().(*flate.Writer)
	defer c.writers.Put(w)
	var b bytes.Buffer
	w.Reset(&b)
	if _, err := w.Write(data); err != nil {
		return Encoded{}, err
	}
	if err := w.Close(); err != nil {
		return Encoded{}, err
	}
	if b.Len() >= len(data) {
		return Encoded{}, nil
	}
	return Encoded{Data: b.Bytes(), Shown: "compressed"}, nil
}

func (*compressor) Decode(_ context.Context, _ Place, e Encoded) ([]byte, error) {
	r := flate.NewReader(bytes.NewReader(e.Data))
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("it does not decompress, so its bytes were changed; restore the database from a backup: %w", err)
	case len(data) > maxDocument:
		return nil, fmt.Errorf("it decompresses to more than %d bytes, as nothing does that was written; restore the database from a backup", maxDocument)
	}
	return data, nil
}
