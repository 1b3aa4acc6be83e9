package core_test

import (
	"strings"
	"testing"
)

// TestE9_E45_WhatCameFirst plays scripts in which nobody served for a time, and says what must
// and must not follow; testdata/scripts/moments.txt has the turns.
func TestE9_E45_WhatCameFirst(t *testing.T) {
	for name, c := range map[string]struct{ script, has, hasNot string }{
		"terminated before a retry is due": {"start charge input=7\nfail 1 now=500ms\nterminate at=1s now=1m", "RunTerminated", "dispatch 1.2"},
		"canceled before a retry is due":   {"start charge input=7\nfail 1 now=500ms\ncancel at=1s now=1m", "RunCanceled", "dispatch 1.2"},
		"a timer that was due before":      {"start race input=7\ncomplete 1 result=\"x\" at=90s now=2m", `RunCompleted result="timer"`, ""},
		"a call that ended before":         {"start race input=7\ncomplete 1 result=\"x\" at=30s now=2m", `RunCompleted result="call x"`, ""},
		"a call before the time of its run ends": {
			"start charge input=7 run=10s\ncomplete 1 result=\"ok\" at=3s now=1m", `RunCompleted result="ok"`, "RunTimedOut",
		},
		"code that goes on after the time of its run": {
			"start sequence input=7 run=10s\ncomplete 1 result=\"a\" at=3s now=1m\nstep", "RunTimedOut", "dispatch 2.1",
		},
	} {
		t.Run(name, func(t *testing.T) { plays(t, c.script, c.has, c.hasNot) })
	}
}

// TestI7_AResumedCallObeysWithin: who resumes a call or its run asks for no attempt beyond the
// time in which attempts may start.
func TestI7_AResumedCallObeysWithin(t *testing.T) {
	for _, how := range []string{"pause-run id=p now=500ms\nresume-run id=r now=1m", "pause 1 id=p now=500ms\nunpause 1 id=r now=1m"} {
		plays(t, "start charge-within input=7\nfail 1 now=100ms\n"+how, `CallFailed #1`, "dispatch 1.2")
	}
	plays(t, "start charge-within input=7\nfail 1 now=100ms\npause-run id=p now=500ms\nresume-run id=r now=2s", "dispatch 1.2", "CallFailed")
}

// TestE45_ACanceledRunWhoseCodeIsAway: it retries nothing, except what is shielded.
func TestE45_ACanceledRunWhoseCodeIsAway(t *testing.T) {
	away := "fail 1 now=1s\nevict code=none\ncancel reason=enough now=1500ms\nstep now=1h"
	plays(t, "start charge input=7\n"+away, "CallCanceled #1", "dispatch 1.2")
	plays(t, "start charge-shielded input=7\n"+away, "dispatch 1.2", "CallCanceled")
	plays(t, "start charge input=7\ncrash code=none now=1s\ncancel reason=enough now=2s\nfail 1 now=3s\nstep now=1h", "CallCanceled #1", "dispatch 1.3")
}

// plays plays a script, whose output must contain one text and not another.
func plays(t *testing.T, script, has, hasNot string) {
	t.Helper()
	got := playScript(t, script)
	if !strings.Contains(got, has) || hasNot != "" && strings.Contains(got, hasNot) {
		t.Errorf("it should say %q and not %q:\n%s", has, hasNot, got)
	}
}
