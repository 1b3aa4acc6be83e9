package postgres

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

func FuzzPayload(f *testing.F) {
	for _, seed := range []string{"", `{"a":"ü"}`, "\x00", "\xff", "a\x00b", `\x`, `\x00`, `\X`, `\\x`, "text \\x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := payload(b)
		if !utf8.ValidString(s) || bytes.IndexByte([]byte(s), 0) >= 0 {
			t.Fatalf("%q is no text", s)
		}
		var back opaque
		if err := back.ScanBytes([]byte(s)); err != nil || !bytes.Equal(back, b) || len(b) == 0 && back != nil {
			t.Fatalf("%q came back as %q (%v)", b, back, err)
		}
	})
}

// TestPayloadsCanBeReadInSQL as what they are.
func TestPayloadsCanBeReadInSQL(t *testing.T) {
	w := newWorld(t)
	run := w.newRun()
	run.Start = []byte(`{"amount": 7}`)
	run.Detail = []byte{0xff, 0x00}
	w.commits(w.first(run))
	if got := w.value(`SELECT start::jsonb ->> 'amount' FROM perdure.runs`); got != "7" {
		t.Errorf("the amount is %s", got)
	}
	if got := w.value(`SELECT encode(detail::bytea, 'hex') FROM perdure.runs`); got != "ff00" {
		t.Errorf("the detail is %s", got)
	}
}
