package storetest

import (
	"cmp"
	"fmt"
	"time"

	"github.com/perdure/perdure/store"
)

// switchChecks are about what is off in a group.
var switchChecks = []check{
	{"Switch/IsALog", func(f *fixture) {
		off := f.switches(store.Switch{Name: "charge", Off: true, Request: "1", By: "ann", Why: "the bank is down; ü"})
		on := f.switches(store.Switch{Name: "charge", Request: "2", By: "bob"})
		other := f.switches(store.Switch{Name: "ship", Off: true, Request: "3"})
		if off.Number >= on.Number || on.Number >= other.Number || off.Number < 1 || off.Time == 0 || on.Time < off.Time {
			f.Errorf("the numbers and times do not rise: %+v, %+v, %+v", off, on, other)
		}
		equal(f, f.switchLog(0), []store.Switch{off, on, other})
		equal(f, f.switchLog(on.Number), []store.Switch{other})
		equal(f, len(f.switchLog(other.Number)), 0)
		f.reopen()
		equal(f, f.switchLog(0), []store.Switch{off, on, other})
	}},
	{"Switch/TheSameRequestIsWrittenOnce", func(f *fixture) {
		first := f.switches(store.Switch{Name: "charge", Off: true, Request: "1", By: "ann"})
		f.switches(store.Switch{Name: "charge", Request: "2"})
		equal(f, f.switches(store.Switch{Name: "charge", Off: true, Request: "1", By: "ann"}), first)
		equal(f, len(f.switchLog(0)), 2)
	}},
	{"Switch/AShareIsKept", func(f *fixture) {
		share := func(s store.Switch) store.Switch {
			f.Helper()
			s.Kind, s.Name = store.SwitchCanary, "v2"
			return f.switches(s)
		}
		some := share(store.Switch{Off: true, Share: 1250, Request: "1", By: "ann"})
		all := share(store.Switch{Off: true, Share: store.WholeShare, Request: "2"})
		none := share(store.Switch{Request: "3"})
		equal(f, f.switchLog(0), []store.Switch{some, all, none})
	}},
	{"Switch/AnEndIsKept", func(f *fixture) {
		off := f.switches(store.Switch{Name: "charge", Off: true, Lasts: int64(time.Hour), Request: "1", By: "ann"})
		equal(f, f.switchLog(0), []store.Switch{off})
		equal(f, off.Ends(), off.Time+int64(time.Hour))
		equal(f, []bool{off.IsOff(off.Ends() - 1), off.IsOff(off.Ends())}, []bool{true, false})
	}},
	{"Switch/EachGroupHasItsOwn", func(f *fixture) {
		here := f.switches(store.Switch{Name: "charge", Off: true, Request: "1"})
		equal(f, must(f.store.Switch(f.Context(), store.Switch{Group: "another", Kind: store.SwitchActivity, Name: "charge", Request: "1"}))(f).Off, false)
		equal(f, f.switchLog(0), []store.Switch{here})
	}},
	{"Switch/WhatNobodyCanKeepIsRefused", func(f *fixture) {
		for _, s := range []store.Switch{
			{Kind: "activity", Name: "a"}, {Kind: "activity", Request: "1"}, {Name: "a", Request: "1"},
			{Kind: "activity", Name: "a", Request: "1", Share: 1}, {Kind: store.SwitchCanary, Name: "a", Request: "1", Share: -1},
			{Kind: store.SwitchCanary, Name: "a", Request: "1", Share: store.WholeShare + 1},
			{Kind: "activity", Name: "a", Request: "1", Lasts: 1}, {Kind: "activity", Name: "a", Off: true, Request: "1", Lasts: -1},
			{Kind: store.SwitchCanary, Name: "a", Off: true, Request: "1", Lasts: 1},
			{Kind: "activity", Name: "a\x00", Request: "1"}, {Kind: "activity", Name: "a", Request: "1", Why: "\xff"},
		} {
			f.malformed(errorOf(f.store.Switch(f.Context(), s)))
		}
		equal(f, len(f.switchLog(0)), 0)
	}},
	{"Switch/ManyAtOnce", func(f *fixture) {
		const writers = 6
		atOnce(writers, func(i int) {
			s := f.store
			if i%2 == 1 {
				s = f.open()
			}
			for j := range 4 {
				f.well(errorOf(s.Switch(f.Context(), store.Switch{Group: f.group.Name, Kind: "k", Name: "n", Request: fmt.Sprint((i + j) % 8)})))
			}
		})
		numbers := each(f.switchLog(0), func(s store.Switch) int64 { return s.Number })
		equal(f, numbers, []int64{1, 2, 3, 4, 5, 6, 7, 8})
	}},
	{"Switch/IsHeard", func(f *fixture) {
		client := f.open()
		for i, ear := range []store.Store{f.store, client} {
			l := f.listen(ear)
			for j, speaker := range []store.Store{f.store, client} {
				l.settle()
				f.must(errorOf(speaker.Switch(f.Context(), store.Switch{Kind: "k", Name: "n", Request: fmt.Sprint(i, j)})))
				l.expect(store.NewsSwitches)
			}
		}
	}},
}

// switches switches in our group, an activity if it is not said what.
func (f *fixture) switches(s store.Switch) store.Switch {
	f.Helper()
	s.Group, s.Kind = f.group.Name, cmp.Or(s.Kind, store.SwitchActivity)
	written := must(f.store.Switch(f.Context(), s))(f)
	s.Number, s.Time = written.Number, written.Time
	equal(f, written, s)
	return written
}

func (f *fixture) switchLog(after int64) []store.Switch {
	f.Helper()
	return must(f.store.Switches(f.Context(), f.group.Name, after))(f)
}
