package history

// Words are short texts that were read lately. Kinds, names and nodes occur in nearly
// every turn of a history; each is kept once, instead of once for every event. The zero
// value is ready. It must not be used concurrently.
type Words struct{ lately [64]string }

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
