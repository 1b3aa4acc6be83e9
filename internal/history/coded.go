package history

import (
	"errors"

	"github.com/perdure/perdure/internal/envelope"
)

// EncodingLocked is the encoding of a value that this program cannot read. Its data is a
// description for people, such as "encrypted, key 2026-11, 312 bytes". It occurs in the
// faces of encoded documents and is never written into one.
const EncodingLocked = "locked"

// faceOf returns the face of an encoded document and, as an error, why the document is not
// decoded. For any other document it returns nil, nil.
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

// IsCoded reports whether an error says that part of the record is encoded and this program
// cannot decode it. The values read are then those of the face.
func IsCoded(err error) bool {
	d, is := errors.AsType[*DamageError](err)
	return is && d.Coded
}
