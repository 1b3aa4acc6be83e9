package engine

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Errors of those who complete attempts from outside.
var (
	// ErrInvalidToken says that this database has not signed the token.
	ErrInvalidToken = errors.New("this is no token of an attempt in this database")
	// ErrStaleToken says that nobody waits for the attempt of the token any more.
	ErrStaleToken = errors.New("the attempt of the token is over")
)

// attemptRef names an attempt for everybody who has the database.
type attemptRef struct {
	partition int
	run       string
	call      int64
	attempt   int
}

// A token is a version, an attemptRef and a signature of both with the secret of
// the database, in the alphabet of URLs. It needs no row: what it names is looked
// up when it comes back.
const (
	tokenVersion = 1
	tokenPurpose = "perdure attempt token\x00" // no other signature is taken for one
)

// sign makes the token of an attempt.
func sign(secret []byte, ref attemptRef) string {
	b := []byte{tokenVersion}
	for _, n := range []uint64{uint64(ref.partition), uint64(ref.call), uint64(ref.attempt)} {
		b = binary.AppendUvarint(b, n)
	}
	b = append(b, ref.run...)
	return base64.RawURLEncoding.EncodeToString(append(b, signature(secret, b)...))
}

// verify reads a token, or answers ErrInvalidToken.
func verify(secret []byte, token string) (ref attemptRef, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	signed := len(b) - sha256.Size
	if err != nil || signed < 1 || b[0] != tokenVersion || !hmac.Equal(b[signed:], signature(secret, b[:signed])) {
		return ref, ErrInvalidToken
	}
	b = b[1:signed]
	var numbers [3]uint64
	for i := range numbers {
		n, length := binary.Uvarint(b)
		if length <= 0 {
			return ref, ErrInvalidToken
		}
		numbers[i], b = n, b[length:]
	}
	return attemptRef{int(numbers[0]), string(b), int64(numbers[1]), int(numbers[2])}, nil
}

func signature(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(tokenPurpose))
	mac.Write(text)
	return mac.Sum(nil)
}

// Token implements activity.Link.
func (x *execution) Token() string {
	return sign(x.engine.secret, attemptRef{x.resident.partition.number, x.key.run, x.key.call, x.key.attempt})
}
