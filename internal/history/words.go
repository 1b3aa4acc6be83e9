package history

import "github.com/perdure/perdure/retry"

// Words are short texts and policies that were read lately. Kinds, names and nodes occur in
// nearly every turn of a history; each is kept once, instead of once for every event. So are
// the policies of calls, which must not be changed, and decoding them is most of the work of
// reading a history. The zero value is ready. It must not be used concurrently.
type Words struct {
	lately   [64]string
	policies [8]readPolicy
}

// readPolicy is the text of a policy, and what it says.
type readPolicy struct {
	text  string
	value *retry.Policy
}

// longWord is the length of a text that hardly occurs twice.
const longWord = 64

// text returns the bytes as a string.
func (w *Words) text(b []byte) string {
	if len(b) == 0 || len(b) > longWord {
		return string(b)
	}
	place := &w.lately[(len(b)+5*int(b[0])+3*int(b[len(b)-1])+7*int(b[len(b)/2]))%len(w.lately)]
	if *place != string(b) {
		*place = string(b)
	}
	return *place
}

// policy returns a policy that was read lately from the same text, nil if there is none.
func (w *Words) policy(text []byte) *retry.Policy {
	if p := w.policies[placeOf(text)]; p.value != nil && p.text == string(text) {
		return p.value
	}
	return nil
}

func (w *Words) keepPolicy(text []byte, p *retry.Policy) {
	w.policies[placeOf(text)] = readPolicy{string(text), p}
}

func placeOf(text []byte) int {
	n := len(text)
	if n == 0 {
		return 0
	}
	return (n + 5*int(text[n/3]) + 3*int(text[n/2]) + 7*int(text[n-n/4-1])) % len(Words{}.policies)
}
