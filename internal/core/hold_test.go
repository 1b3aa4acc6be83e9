package core

import (
	"bytes"
	"testing"

	"github.com/perdure/perdure/internal/history"
)

// TestE47_TheSameReasonIsNoNews: a run that is held again for the reason in its row is no news,
// although the row learns where else its code was tried. Another reason is, and so is other code
// that fails alike.
func TestE47_TheSameReasonIsNoNews(t *testing.T) {
	r := New(Config{}, history.Start{WorkflowID: "w", Run: "r"})
	for i, c := range []struct {
		detail        Detail
		news, written bool
	}{
		{Detail{Reason: "it panicked", Fingerprint: "1", Since: 5}, true, true},
		{Detail{Reason: "it panicked", Fingerprint: "1", Since: 9}, false, false},
		{Detail{Reason: "it panicked", Fingerprint: "1", Tried: []string{"1"}}, false, true},
		{Detail{Reason: "it panicked", Fingerprint: "2"}, true, true},
		{Detail{Reason: "it loops", Fingerprint: "2"}, true, true},
	} {
		before := r.row.state.Detail
		if news := r.Hold(StatusParked, c.detail); news != c.news || !bytes.Equal(before, r.row.state.Detail) != c.written {
			t.Errorf("%d: news %t, row %s", i, news, r.row.state.Detail)
		}
		if d, err := DecodeDetail(r.row.state.Detail); err != nil || d.Since != 5 {
			t.Errorf("%d: since %d, %v", i, d.Since, err)
		}
	}
}
