package wording_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

// TestF11_WhatHasBegunIsNotToCome: how long a call has waited is said as a length, and what
// another clock puts into the future is now.
func TestF11_WhatHasBegunIsNotToCome(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	offered := now.Add(-5400 * time.Millisecond)
	if got := wording.AtQueue(&view.Call{Queue: "gpu", State: view.CallOffered, Offered: &offered}, now); got != "it has waited in queue gpu for 5.4s" {
		t.Error(got)
	}
	for d, want := range map[time.Duration]string{50 * time.Millisecond: "now", 0: "now", -5400 * time.Millisecond: "5.4s ago"} {
		if got := human.Ago(now.Add(d), now); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
	if got := (view.Payload{JSON: []byte(`{"url":"http://a/?b=1\u0026c=\u003cd\u003e","same":"\\u0026"}`)}).String(); got != `{"url":"http://a/?b=1&c=<d>","same":"\\u0026"}` {
		t.Error(got)
	}
}
