package dispatch

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestE49_NoSlotIsLostOrMadeUp: whatever runs do with their seats (ask, begin, end, keep, give up,
// leave memory, lose their partition), no more attempts hold a slot than there are slots, and in
// the end all slots are free again and nobody waits.
func TestE49_NoSlotIsLostOrMadeUp(t *testing.T) {
	rapid.Check(t, keepSeats)
}

func keepSeats(t *rapid.T) {
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	s := NewSlots(limit, func() bool { return true })
	const runs = 5
	tenure := func(run int) Tenure { return Tenure{Partition: run % 2, Epoch: 1} }
	seats := map[int]*Seats{}
	of := func(run int) *Seats {
		if seats[run] == nil {
			seats[run] = s.SeatsOf(fmt.Sprint(run), tenure(run))
		}
		return seats[run]
	}
	var running []*Slot
	for range rapid.IntRange(0, 100).Draw(t, "steps") {
		run, call := rapid.IntRange(0, runs-1).Draw(t, "run"), int64(rapid.IntRange(1, 3).Draw(t, "call"))
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0, 1, 2:
			by := &Step{}
			admitted, _ := of(run).Admit(by, &Ask{Number: call, Code: fmt.Sprint(run % 3), Probation: rapid.Bool().Draw(t, "suspect"), Promise: rapid.Bool().Draw(t, "promise")})
			if admitted && !of(run).Has(call) {
				t.Fatal("a call is admitted without a slot")
			}
			if rapid.IntRange(0, 9).Draw(t, "stuck") == 0 {
				of(run).GiveUp(by)
			}
		case 3, 4:
			if slot := of(run).Begin(call); slot != nil {
				running = append(running, slot)
			}
		case 5, 6:
			if len(running) > 0 {
				slot := running[0]
				running = running[1:]
				if slot.Lane() == Probation {
					slot.Free()
				} else if kept, _ := of(run).Keep(slot); !kept {
					slot.Free()
				}
			}
		case 7:
			of(run).Stepped(rapid.Bool().Draw(t, "first"))
		case 8:
			of(run).Close()
			delete(seats, run)
		case 9:
			gone := rapid.IntRange(0, 1).Draw(t, "partition")
			s.Drop([]Tenure{{Partition: gone, Epoch: 1}})
			for run := range seats {
				if run%2 == gone {
					delete(seats, run)
				}
			}
		}
		if u := s.Usage(); u.Regular > limit+1 || u.Promised > limit*(maxPromises+1) { // one may have left probation
			t.Fatalf("%+v of %d slots are in use", u, limit)
		}
		s.pace = pace{average{8, true}, average{time.Duration(rapid.IntRange(1, 10).Draw(t, "body")), true}}
	}
	for _, slot := range running {
		slot.Free()
	}
	for len(s.seats) > 0 || s.Usage().Waiting > 0 {
		for _, t := range s.seats {
			t.Close()
		}
		s.Drop([]Tenure{{Partition: 0, Epoch: 1}, {Partition: 1, Epoch: 1}})
	}
	if u := s.Usage(); u.Regular != 0 || u.Promised != 0 || u.Probation {
		t.Fatalf("slots are lost: %+v", u)
	}
}
