package ident

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

func TestRunIDsSortByCreationTime(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for range 100 {
		before, after := NewRun(at.UnixNano()), NewRun(at.Add(time.Millisecond).UnixNano())
		if before >= after {
			t.Fatalf("the earlier ID %s is not less than the later one %s", before, after)
		}
		if len(before) != 36 || before[14] != '7' {
			t.Fatalf("%s is no UUID of version 7", before)
		}
	}
}

func TestRunFloorIsBelowRunsOfItsMillisecond(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	floor := RunFloor(at)
	if id := NewRun(at.UnixNano()); id < floor {
		t.Errorf("run %s is below the floor %s of its time", id, floor)
	}
	if !IsRun(floor) {
		t.Errorf("the floor %s has not the form of a run ID", floor)
	}
	if id := NewRun(at.Add(-time.Millisecond).UnixNano()); id >= floor {
		t.Errorf("run %s of an earlier time is above the floor %s", id, floor)
	}
	if floor := RunFloor(time.Time{}); floor != "00000000-0000-0000-0000-000000000000" {
		t.Errorf("the floor of a time before 1970 is %s", floor)
	}
}

func TestBelowARunIDIsNoOther(t *testing.T) {
	for id, want := range map[string]string{
		"0198c1d2-0000-7000-8000-000000000001": "0198c1d2-0000-7000-8000-000000000000",
		"0198c1d2-0000-7000-8000-000000000000": "0198c1d2-0000-7000-7fff-ffffffffffff",
		"01000000-0000-0000-0000-000000000000": "00ffffff-ffff-ffff-ffff-ffffffffffff",
		"00000000-0000-0000-0000-000000000000": "",
		"run-1":                                "run-",
		"":                                     "",
	} {
		if got := Below(id); got != want {
			t.Errorf("below %q is %q, want %q", id, got, want)
		}
	}
}

func TestAboveARunIDIsNoOther(t *testing.T) {
	for id, want := range map[string]string{
		"0198c1d2-0000-7000-8000-000000000000": "0198c1d2-0000-7000-8000-000000000001",
		"0198c1d2-0000-7000-7fff-ffffffffffff": "0198c1d2-0000-7000-8000-000000000000",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "ffffffff-ffff-ffff-ffff-ffffffffffff\x01",
		"run-1":                                "run-1\x01",
	} {
		if got := Above(id); got != want || got <= id {
			t.Errorf("above %q is %q, want %q", id, got, want)
		}
	}
}

func TestRunIDsHaveTheirForm(t *testing.T) {
	for range 100 {
		if id := NewRun(time.Now().UnixNano()); !IsRun(id) {
			t.Errorf("%q is no run ID", id)
		}
	}
	id := NewRun(1)
	for _, text := range []string{"", "nonsense", id[1:], id + "0", "g" + id[1:], strings.ToUpper(id[:34]) + "AB", strings.ReplaceAll(id, "-", "0"), id[:8] + "0" + id[9:]} {
		if IsRun(text) {
			t.Errorf("%q is a run ID", text)
		}
	}
}

func TestRunIDsAreTextsOfTheirBytes(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).UnixNano()
	var last [16]byte
	for i := range int64(100) {
		id := NewRun(at + i*1e6)
		b, is := RunBytes(id)
		if !is || RunOf(b) != id || hex.EncodeToString(b[:]) != strings.ReplaceAll(id, "-", "") {
			t.Errorf("the bytes of %s are %x, which are those of %s", id, b, RunOf(b))
		}
		if bytes.Compare(last[:], b[:]) >= 0 {
			t.Errorf("the bytes %x of a later run are not greater than %x", b, last)
		}
		last = b
	}
}
