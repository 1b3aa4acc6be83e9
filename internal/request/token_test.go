package request

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestE29_TokensNameTheirAttempt: and nothing else does.
func TestE29_TokensNameTheirAttempt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 32, 32)
		key, other := secret.Draw(t, "secret"), secret.Draw(t, "another secret")
		attempt := Attempt{
			Partition: rapid.IntRange(0, 1<<40).Draw(t, "partition"),
			Run:       rapid.String().Draw(t, "run"),
			Call:      rapid.Int64Range(0, 1<<60).Draw(t, "call"),
			Number:    rapid.IntRange(1, 1<<31).Draw(t, "attempt"),
		}
		token := sign(key, attempt)
		if got, err := verify(key, token); got != attempt || err != nil {
			t.Fatalf("signed was %+v, read %+v, %v", attempt, got, err)
		}
		if _, err := verify(other, token); string(key) != string(other) && !errors.Is(err, ErrInvalidToken) {
			t.Fatalf("another secret: %v", err)
		}
		cut := rapid.IntRange(0, len(token)-1).Draw(t, "cut")
		if _, err := verify(key, token[:cut]); !errors.Is(err, ErrInvalidToken) {
			t.Fatalf("%d characters of the token: %v", cut, err)
		}
	})
}

// FuzzToken: no text is taken for a token but the one that signing makes.
func FuzzToken(f *testing.F) {
	secret := make([]byte, 32)
	token := sign(secret, Attempt{3, "run", 7, 2})
	for _, s := range []string{"", token, token[1:], token + "A", "\n" + token, token + "\r\n", "AQ", "AQMHAnJ1bg"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		attempt, err := verify(secret, s)
		if err == nil && sign(secret, attempt) != s {
			t.Errorf("%q was taken for the token of %+v", s, attempt)
		}
		if err != nil && !errors.Is(err, ErrInvalidToken) {
			t.Error(err)
		}
	})
}
