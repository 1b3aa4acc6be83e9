package history

import "github.com/perdure/perdure/retry"

// Words caches recently read short texts and policies. Kinds, names and nodes occur in
// nearly every turn of a history; the cache stores each once instead of once per event. It
// also shares the decoded policies of calls, which must not be modified: decoding them is
// most of the work of reading a history. It may serve one history after the other. The zero
// value is ready to use. It is not safe for concurrent use.
type Words struct {
	lately   [64]string
	policies [8]readPolicy
}

// readPolicy is the text of a policy and its decoded value.
type readPolicy struct {
	text  string
	value *retry.Policy
}

// longWord is the length above which a text is unlikely to repeat.
const longWord = 64

// text returns b as a string.
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

// policy returns a policy that was recently decoded from the same text, or nil.
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
