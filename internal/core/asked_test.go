package core_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
)

// TestF39_ARequestIsObeyedOnce: a request that arrives twice fires once, under one ID; its
// note outlives the process, and a hundred later requests end it.
func TestF39_ARequestIsObeyedOnce(t *testing.T) {
	c := newClockwork(t, history.Schedule{Overlap: core.OverlapAllow})
	ask := func(n int64, request string) core.ToSchedule {
		return core.ToSchedule{Word: core.ScheduleTrigger, At: int64(h/2) + n, Request: request}
	}
	c.step(h/2+9, ask(1, "k"), ask(2, "k"), ask(3, ""), ask(4, "other"))
	c.step(h/2+10, ask(5, "k")) // loaded from its rows
	c.expect(core.TriggerID("s", 0, "k"), "00:30:00.000000003Z", core.TriggerID("s", 0, "other"))
	c.step(h/2+11, core.ToSchedule{Word: core.SchedulePause, At: int64(h/2) + 6, Request: "k"})
	if c.table.Detail().Pause == nil {
		t.Error("the key of one word hinders another")
	}
	for n := range 100 {
		c.step(h/2+12, core.ToSchedule{Word: core.ScheduleResume, At: int64(h/2) + 7, Request: fmt.Sprint(n)})
	}
	if c.table.Asked(string(core.ScheduleTrigger), "k") != nil || c.table.Asked(string(core.ScheduleResume), "0") == nil {
		t.Error("the log is not the latest hundred")
	}
}
