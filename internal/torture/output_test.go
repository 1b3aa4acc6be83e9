package torture

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/logs"
)

// TestP5_WhatAProcessMayNotSay: every event of level error but those that trouble explains, and
// some warnings, by the names that the log has for them; and what the runtime of Go writes when
// it ends a process. Lines come in pieces.
func TestP5_WhatAProcessMayNotSay(t *testing.T) {
	var names []string
	o := &output{isComplaint: IsComplaint}
	log := slog.New(slog.NewTextHandler(o, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, e := range logs.Events() {
		names = append(names, e.Name)
		log.Log(t.Context(), e.Level, "perdure: "+e.Message, "event", e.Name, "run_id", "1")
	}
	for _, name := range slices.Concat(expected, unexpected) {
		if !slices.Contains(names, name) {
			t.Errorf("no event is called %q", name)
		}
	}
	for _, piece := range []string{"pan", "ic: oh no\n\ngorou", "tine 1 [running]:\n"} {
		if _, err := o.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	log.Error("perdure: further records", "event", "more", "of", "database_away")
	log.Error("perdure: further records", "event", "more", "of", "turn_refused")
	said := strings.Join(o.complaints(), "\n")
	for name, complaint := range map[string]bool{
		"turn_refused": true, "run_parked": true, "superseded": true, "message_dropped": true, "run_failed": true,
		"partitions_lost": false, "database_away": false, "engine_started": false, "listen_failed": false,
	} {
		if strings.Contains(said, "event="+name+" ") != complaint {
			t.Errorf("%s is a complaint: %t, want %t", name, !complaint, complaint)
		}
	}
	if strings.Contains(said, "of=database_away") || !strings.Contains(said, "of=turn_refused") {
		t.Errorf("of suppressed records the complaints are\n%s", said)
	}
	if !strings.Contains(said, "panic: oh no\n") || !strings.Contains(said, "\ngoroutine 1 [running]:\n") {
		t.Errorf("the complaints are\n%s", said)
	}
}
