package codec

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/see"
)

// KeyError means that a document is encrypted with a key that the program does not have.
type KeyError struct{ Key string }

func (e *KeyError) Error() string {
	return fmt.Sprintf("it is encrypted with the key %q, which this program does not have; give codec.AES that key and start again %s", e.Key, see.Decoding)
}

// AES returns a codec that encrypts with AES-GCM. It writes with the key that is named and
// reads with all of them, by name. A key has 16, 24 or 32 random bytes; 32 are AES-256.
//
// To rotate, add a new key to all processes, then write with the new one in all. An old
// key is needed until no run, closed ones included, has documents of it.
//
// Each document has a random nonce. A document is bound to its Place and its key's name: one
// that was changed, or moved to another turn, run or kind, does not decrypt. What is not
// bound: an older state of the same row may be put back, rows may be deleted, and names, IDs,
// states and times in columns and in the faces of documents may be changed. One key can
// write 2^32 documents; rotate before that.
func AES(write string, keys map[string][]byte) (Codec, error) {
	a := &sealer{write: write, keys: map[string]cipher.AEAD{}}
	for name, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("codec.AES: the key %q has %d bytes; it must have 16, 24 or 32", name, len(key))
		}
		if a.keys[name], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, fmt.Errorf("codec.AES: the key %q: %w", name, err)
		}
	}
	if a.keys[write] == nil || write == "" {
		return nil, fmt.Errorf("codec.AES: the key to write with is %q, which is not among the %d keys; give it a name and add it", write, len(keys))
	}
	return a, nil
}

type sealer struct {
	write string
	keys  map[string]cipher.AEAD
}

func (*sealer) Name() string { return "aes-gcm" }

func bound(at Place, key string) []byte { return []byte(at.String() + key) }

func (a *sealer) Encode(_ context.Context, at Place, data []byte) (Encoded, error) {
	sealed := a.keys[a.write].Seal(nil, nil, data, bound(at, a.write)) // begins with the nonce
	return Encoded{Data: sealed, Label: a.write, Shown: "encrypted, key " + a.write}, nil
}

var errSealed = errors.New("this name has a different key, or the document was changed or belongs elsewhere; restore the right key, or the database from a backup " + see.Decoding)

func (a *sealer) Decode(_ context.Context, at Place, e Encoded) ([]byte, error) {
	aead := a.keys[e.Label]
	if aead == nil {
		return nil, &KeyError{e.Label}
	}
	data, err := aead.Open(nil, nil, e.Data, bound(at, e.Label))
	if err != nil {
		return nil, fmt.Errorf("it does not decrypt with the key %q: %w", e.Label, errSealed)
	}
	return data, nil
}
