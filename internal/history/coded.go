package history

import (
	"errors"

	"github.com/perdure/perdure/internal/envelope"
)

// EncodingLocked is the encoding of a value that cannot be read here: its data is what
// people are told of it, "encrypted, key 2026-11, 312 bytes". It stands in the faces of
// encoded documents and is never written into one.
const EncodingLocked = "locked"

// faceOf returns the face of a document that is encoded, and as an error why it is not
// decoded; nil, nil of any other document.
func faceOf(doc []byte) ([]byte, error) {
	if !envelope.Is(doc) {
		return nil, nil
	}
	e, err := envelope.Parse(doc)
	if err != nil {
		return nil, &DamageError{Err: err}
	}
	return e.Face, &DamageError{Coded: true, Err: errors.New(e.Reason())}
}

// IsCoded reports whether an error says that something on record is encoded and that this
// program cannot decode it. What was read is then what its face shows.
func IsCoded(err error) bool {
	d, is := errors.AsType[*DamageError](err)
	return is && d.Coded
}
