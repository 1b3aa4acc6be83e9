package request

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
)

// TestOutcomesAreRememberedForAMoment: those of runs that ended here, each for its own workflow
// ID, for a minute, and no more than fit.
func TestOutcomesAreRememberedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lately
		l.add("mine", "run", core.State{Status: core.StatusCompleted, Detail: []byte("result")})
		if s := l.get("mine", "run"); s == nil || string(s.Detail) != "result" {
			t.Errorf("the outcome is %+v", s)
		}
		if l.get("another's", "run") != nil {
			t.Error("the outcome of a run is told under another workflow ID")
		}
		time.Sleep(latelyTime + 1)
		if l.get("mine", "run") != nil || l.bytes != 0 || l.order != nil {
			t.Errorf("after a while it is still known: %+v", &l)
		}
		large := core.State{Detail: make([]byte, latelyBytes/20)}
		for i := range 1000 {
			l.add("mine", fmt.Sprint(i), large)
		}
		if l.get("mine", "999") == nil || l.get("mine", "0") != nil || l.bytes > latelyBytes || len(l.byRun) != len(l.order) {
			t.Errorf("%d bytes of %d runs are kept", l.bytes, len(l.byRun))
		}
		l.add("mine", "huge", core.State{Detail: make([]byte, latelyBytes)})
		if l.get("mine", "huge") != nil || l.get("mine", "999") == nil {
			t.Error("one huge result takes the place of all others")
		}
	})
}
