package request

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Errors of requests with a token.
var (
	// ErrInvalidToken says that this database did not sign the token.
	ErrInvalidToken = errors.New("this is not a token of an attempt in this database")
	// ErrStaleToken says that the attempt of the token has ended.
	ErrStaleToken = errors.New("the attempt of the token has ended; a later attempt has another token")
)

// Attempt identifies an attempt in the database.
type Attempt struct {
	Partition int
	Run       string
	Call      int64
	Number    int
}

// A token is a version, an Attempt and a signature of both with the secret of the database,
// in the URL-safe alphabet. It needs no row: the attempt is looked up when the token comes
// back.
const (
	tokenVersion = 1
	tokenPurpose = "perdure attempt token\x00" // separates these signatures from others
)

// Token returns the token of an attempt.
func (c *Client) Token(a Attempt) string { return sign(c.secret, a) }

func sign(secret []byte, a Attempt) string {
	b := []byte{tokenVersion}
	for _, n := range []uint64{uint64(a.Partition), uint64(a.Call), uint64(a.Number)} {
		b = binary.AppendUvarint(b, n)
	}
	b = append(b, a.Run...)
	return base64.RawURLEncoding.EncodeToString(append(b, signature(secret, b)...))
}

// verify returns the attempt that a token names, or ErrInvalidToken. An attempt has exactly
// one token: a text that only decodes to the same bytes, such as one with line ends, is
// invalid.
func verify(secret []byte, token string) (a Attempt, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	signed := len(b) - sha256.Size
	if err != nil || base64.RawURLEncoding.EncodeToString(b) != token ||
		signed < 1 || b[0] != tokenVersion || !hmac.Equal(b[signed:], signature(secret, b[:signed])) {
		return a, ErrInvalidToken
	}
	b = b[1:signed]
	var numbers [3]uint64
	for i := range numbers {
		n, length := binary.Uvarint(b)
		if length <= 0 {
			return a, ErrInvalidToken
		}
		numbers[i], b = n, b[length:]
	}
	return Attempt{int(numbers[0]), string(b), int64(numbers[1]), int(numbers[2])}, nil
}

func signature(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(tokenPurpose))
	mac.Write(text)
	return mac.Sum(nil)
}
