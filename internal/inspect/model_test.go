package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// inWorlds runs a property in random worlds.
func inWorlds(t *testing.T, property func(t *rapid.T, w *world)) {
	rapid.Check(t, func(rt *rapid.T) { property(rt, newWorld(rt, t)) })
}

// optionally draws one of the words, or "".
func optionally(t *rapid.T, label string, words ...string) string {
	return rapid.SampledFrom(append([]string{"", ""}, words...)).Draw(t, label)
}

func (w *world) someFilter(t *rapid.T) view.AttemptFilter {
	return view.AttemptFilter{
		Workflow: optionally(t, "workflow", "order", "mail"), Activity: optionally(t, "activity", "reserve", "charge", "notify"),
		ErrorType: optionally(t, "error", "Broken", "Busy"), Outcome: optionally(t, "outcome", view.OutcomeFailed, view.OutcomeCompleted, view.OutcomeCanceled),
		Since: w.someTime(t, "since"), Until: w.someTime(t, "until"),
		MoreThan: rapid.IntRange(0, 2).Draw(t, "more than"),
	}
}

func selects(f view.AttemptFilter, e entry) bool {
	return (f.Workflow == "" || f.Workflow == e.workflow) && (f.Activity == "" || f.Activity == e.name) && (f.ErrorType == "" || f.ErrorType == e.kind) &&
		(f.Outcome == "" || f.Outcome == e.outcome) && within(e.ended, f.Since, f.Until) && e.number > f.MoreThan
}

// TestE22_TheLedgerIsWhatHappened: whatever it is filtered by and however its pages are cut,
// the ledger has each attempt of the calls with a failed one, once, latest first.
func TestE22_TheLedgerIsWhatHappened(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		f := w.someFilter(t)
		var want, got []string
		for _, e := range w.ledger() {
			if selects(f, e) {
				want = append(want, fmt.Sprint(e.WorkflowID, e.ID, e.workflow, e.call, e.name, e.number, e.outcome, e.kind, e.ended))
			}
		}
		f.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
		for pages := 0; ; pages++ {
			some, next, err := w.in.FindAttempts(w.Context(), f)
			if err != nil || len(some) > f.Limit || pages > len(want) {
				t.Fatalf("page %d has %d attempts, %v", pages, len(some), err)
			}
			for _, a := range some {
				got = append(got, fmt.Sprint(a.WorkflowID, a.RunID, a.Workflow, a.Call, a.Name, a.Number, a.Outcome, a.ErrorType, a.Ended.UnixNano()))
			}
			if f.After = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v selects\n%s\nnot\n%s", f, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestE22_CallsAreFoundByTheirLatestAttempt: and their sums are those of what happened.
func TestE22_CallsAreFoundByTheirLatestAttempt(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		f := w.someFilter(t)
		var want, got []string
		for _, e := range w.ledger() {
			if !e.last() || !selects(f, e) {
				continue
			}
			failed, canceled, completed := 0, 0, 0
			for _, d := range e.attempts {
				switch {
				case d.call != e.call:
				case d.outcome == view.OutcomeFailed:
					failed++
				case d.outcome == view.OutcomeCanceled:
					canceled++
				default:
					completed++
				}
			}
			want = append(want, fmt.Sprint(e.ID, e.call, e.name, e.number, failed, canceled, completed, e.outcome, e.kind))
		}
		f.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
		for {
			some, next, err := w.in.FindCalls(w.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range some {
				got = append(got, fmt.Sprint(c.RunID, c.Call, c.Name, c.Attempts, c.Failed, c.Canceled, c.Completed, c.Outcome, c.ErrorType))
				if c.Outcome == view.OutcomeCompleted && c.RecoveredFromType == "" {
					t.Errorf("what call %d recovered from is not said", c.Call)
				}
			}
			if f.After = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v selects\n%s\nnot\n%s", f, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestE22_ErrorsAreGroupedAsTheyHappened: by activity and type, with how many calls recovered.
func TestE22_ErrorsAreGroupedAsTheyHappened(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		f := w.someFilter(t)
		f.MoreThan = 0
		type group struct{ attempts, calls, recovered int }
		want := map[[2]string]*group{}
		calls := map[string]bool{}
		for _, e := range w.ledger() {
			if e.kind == "" || !selects(f, e) {
				continue
			}
			key := [2]string{e.name, e.kind}
			if want[key] == nil {
				want[key] = &group{}
			}
			want[key].attempts++
			if call := fmt.Sprint(e.ID, e.call, e.kind); !calls[call] {
				calls[call] = true
				want[key].calls++
				if e.life.calls[e.call-1].outcome == view.OutcomeCompleted {
					want[key].recovered++
				}
			}
		}
		got, err := w.in.ErrorStats(w.Context(), f)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%+v: %d groups, want %d, %v", f, len(got), len(want), err)
		}
		if !slices.IsSortedFunc(got, func(a, b view.ErrorStats) int { return b.Attempts - a.Attempts }) {
			t.Errorf("the most frequent does not come first: %+v", got)
		}
		for _, g := range got {
			is, was := group{g.Attempts, g.Calls, g.Recovered}, want[[2]string{g.Name, g.ErrorType}]
			if was == nil || is != *was || g.RecoveredShare != float64(was.recovered)/float64(was.calls) || g.Example.ErrorType != g.ErrorType || g.First.After(g.Last) {
				t.Errorf("%s of %s: %+v, want %+v", g.ErrorType, g.Name, g, was)
			}
		}
	})
}

// TestE22_CallsAreCounted: each call that ended is counted once, by how it ended, with its run at
// the latest.
func TestE22_CallsAreCounted(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		for _, r := range w.open() {
			r.terminate()
		}
		want := map[[2]string]*view.ActivityStats{}
		for _, r := range w.runs {
			for _, c := range r.calls {
				if c.open {
					continue
				}
				s := want[[2]string{r.workflow, c.name}]
				if s == nil {
					s = &view.ActivityStats{}
					want[[2]string{r.workflow, c.name}] = s
				}
				s.Calls++
				for _, d := range r.attempts {
					if d.call == c.number {
						s.Attempts++
					}
				}
				switch {
				case r.status == view.StatusTerminated && c.outcome != view.OutcomeCompleted && c.failed < worldAttempts:
					s.Canceled++
				case c.outcome == view.OutcomeFailed:
					s.Exhausted++
				case c.failed > 0:
					s.Recovered++
				default:
					s.FirstTry++
				}
			}
		}
		got, err := w.in.ActivityStats(w.Context(), roomtest.Began, w.Time().Add(1))
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d of %d activities, %v", len(got), len(want), err)
		}
		for _, g := range got {
			s := want[[2]string{g.Workflow, g.Name}]
			if s == nil || g.Calls != s.Calls || g.Attempts != s.Attempts || g.Canceled != s.Canceled || g.Exhausted != s.Exhausted || g.Recovered != s.Recovered || g.FirstTry != s.FirstTry {
				t.Errorf("%s: %+v, want %+v", g.Name, g, s)
				continue
			}
			if own := s.Calls - s.Canceled; own > 0 && g.FirstTryRate != float64(s.FirstTry)/float64(own) {
				t.Errorf("%s: the rate is %v, want %d of %d", g.Name, g.FirstTryRate, s.FirstTry, own)
			}
		}
		if after, err := w.in.ActivityStats(w.Context(), w.Time().Add(2*3600e9), w.Time().Add(3*3600e9)); err != nil || len(after) != 0 {
			t.Errorf("of another hour: %+v, %v", after, err)
		}
	})
}

// TestE61_ListsAreWhatTheFilterSays: by whatever, in pages of whatever length, each run that the
// filter selects comes once, newest first.
func TestE61_ListsAreWhatTheFilterSays(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		f := view.Filter{
			Workflow: optionally(t, "workflow", "order", "mail"), IDPrefix: optionally(t, "prefix", "a", "ab", "b-"),
			Call: optionally(t, "call", view.CallBackoff, view.CallRetrying), ErrorType: optionally(t, "error", "Broken", "Busy"),
			Since: w.someTime(t, "since"), Until: w.someTime(t, "until"), Waits: rapid.Bool().Draw(t, "waits"),
		}
		if status := optionally(t, "status", view.StatusRunning, view.StatusCompleted, view.StatusTerminated); status != "" {
			f.Status = []string{status, view.StatusFailed}
		}
		if customer := optionally(t, "customer", "ann", "bob"); customer != "" {
			f.Attributes = map[string]string{"customer": customer}
		}
		var want, got []string
		for _, r := range w.newest() {
			if r.selected(f) {
				want = append(want, r.ID)
			}
		}
		f.Limit = rapid.IntRange(1, 5).Draw(t, "limit")
		for pages := 0; pages <= len(want); pages++ {
			some, err := w.in.List(w.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range some {
				got = append(got, r.RunID)
			}
			if len(some) < f.Limit {
				break
			}
			f.Before = some[len(some)-1].RunID
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v selects %v, not %v", f, got, want)
		}
	})
}

// selected reports whether a filter selects a run.
func (r *life) selected(f view.Filter) bool {
	backoff := slices.ContainsFunc(r.calls, func(c *called) bool { return c.open && c.due > r.Now() })
	failed := slices.ContainsFunc(r.calls, func(c *called) bool { return f.ErrorType != "" && c.kind == f.ErrorType })
	return (f.Workflow == "" || f.Workflow == r.workflow) && strings.HasPrefix(r.WorkflowID, f.IDPrefix) && (f.Call == "" || backoff) &&
		(f.ErrorType == "" || failed) && within(r.began, f.Since, f.Until) && (len(f.Status) == 0 || slices.Contains(f.Status, r.status)) &&
		(f.Attributes == nil || r.attributes["customer"] == f.Attributes["customer"])
}

// TestE61_CountsAreThoseOfTheList: runs by status, calls by state, and when the next retry is.
func TestE61_CountsAreThoseOfTheList(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		got, err := w.in.Counts(w.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		runs, backoff, next := map[string]int{}, 0, int64(0)
		for _, r := range w.runs {
			runs[r.status]++
			for _, c := range r.calls {
				if c.open && c.due > w.Now() {
					backoff++
					if next == 0 || c.due < next {
						next = c.due
					}
				}
			}
		}
		for _, status := range statuses {
			if got.Runs[status] != runs[status] {
				t.Errorf("%d runs are %s, want %d", got.Runs[status], status, runs[status])
			}
		}
		if got.Calls[view.CallBackoff] != backoff || (got.NextRetry == nil) != (next == 0) || next != 0 && got.NextRetry.UnixNano() != next {
			t.Errorf("%d calls are in backoff, the next until %v; want %d, %d", got.Calls[view.CallBackoff], got.NextRetry, backoff, next)
		}
	})
}

// TestI12_AllViewsOfARunAgree: an Overview is what its verbs return, and a closed run has no
// open call.
func TestI12_AllViewsOfARunAgree(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		for _, r := range w.runs {
			o, err := w.in.Overview(w.Context(), r.WorkflowID, r.ID)
			if err != nil {
				t.Fatal(err)
			}
			d, err1 := w.in.Describe(w.Context(), r.WorkflowID, r.ID)
			attempts, err2 := w.in.Attempts(w.Context(), r.WorkflowID, r.ID, view.AttemptRange{})
			calls, err3 := w.in.Calls(w.Context(), r.WorkflowID, r.ID, view.CallRange{})
			audit, err4 := w.in.Audit(w.Context(), r.WorkflowID, r.ID)
			for _, err := range []error{err1, err2, err3, err4} {
				if err != nil {
					t.Fatal(err)
				}
			}
			same(t, "description", o.Description, d)
			same(t, "attempts", o.Attempts, attempts)
			same(t, "calls", o.Calls, calls)
			same(t, "audit", o.Audit, audit)
			open := 0
			for _, c := range r.calls {
				if c.open {
					open++
				}
			}
			if d.Status != r.status || len(d.Pending) != open || (d.Result != nil) != (r.status == view.StatusCompleted) || (len(audit) == 1) != (r.status == view.StatusTerminated) {
				t.Errorf("a run that is %s is %+v, audited as %+v", r.status, d, audit)
			}
			for _, p := range d.Pending {
				c := r.calls[p.Call-1]
				state := view.CallRunning
				if c.due > w.Now() {
					state = view.CallBackoff
				}
				if !c.open || p.Name != c.name || p.Attempt != c.attempt || p.Failures != c.failed || p.State != state || p.LastErrorType != c.kind || p.Max != worldAttempts {
					t.Errorf("the pending call %+v is shown as %+v", c, p)
				}
			}
		}
	})
}

// same compares as users see it.
func same(t *rapid.T, what string, got, want any) {
	if g, w := fmt.Sprintf("%+v", asJSON(t, got)), fmt.Sprintf("%+v", asJSON(t, want)); g != w && g != "null" && w != "null" {
		t.Errorf("the %s of an overview\n%s\nis not that of its verb\n%s", what, g, w)
	}
}

// TestF53_PartsOfTheAttemptsAreTheWhole: and the whole is what happened.
func TestF53_PartsOfTheAttemptsAreTheWhole(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		for _, r := range w.runs {
			whole, err := w.in.Attempts(w.Context(), r.WorkflowID, r.ID, view.AttemptRange{})
			if err != nil {
				t.Fatal(err)
			}
			r.checkAttempts(t, whole)
			part := view.AttemptRange{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), Call: rapid.Int64Range(0, 3).Draw(t, "call")}
			var got []view.Attempt
			for pages := 0; pages <= len(whole); pages++ {
				some, err := w.in.Attempts(w.Context(), r.WorkflowID, r.ID, part)
				if err != nil || len(some) > part.Limit {
					t.Fatal(len(some), err)
				}
				if got = append(got, some...); len(some) < part.Limit {
					break
				}
				part.After = view.AttemptPlace{Call: some[len(some)-1].Call, Number: some[len(some)-1].Number}
			}
			want := slices.DeleteFunc(slices.Clone(whole), func(a view.Attempt) bool { return part.Call > 0 && a.Call != part.Call })
			if g, w := string(asJSON(t, got)), string(asJSON(t, want)); g != w && len(got)+len(want) > 0 {
				t.Errorf("in parts of %d of call %d\n%s\nas a whole\n%s", part.Limit, part.Call, g, w)
			}
		}
	})
}

// checkAttempts compares the attempts of a run with what happened.
func (r *life) checkAttempts(t *rapid.T, whole []view.Attempt) {
	var want, got []string
	for _, c := range r.calls {
		for _, d := range r.attempts {
			if d.call == c.number {
				want = append(want, fmt.Sprint(d.call, d.name, d.number, d.outcome, d.kind))
			}
		}
		if c.open && c.due <= r.Now() {
			want = append(want, fmt.Sprint(c.number, c.name, c.attempt, view.OutcomeRunning, ""))
		}
	}
	ids := map[string]bool{}
	for _, a := range whole {
		got = append(got, fmt.Sprint(a.Call, a.Name, a.Number, a.Outcome, a.ErrorType))
		if ids[a.ID] || a.ID == "" || a.NotKept != 0 {
			t.Errorf("attempt %+v has no ID of its own, or is not the next", a)
		}
		ids[a.ID] = true
	}
	if !slices.Equal(got, want) {
		t.Errorf("of run %s the attempts are\n%s\nnot\n%s", r.ID, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestF53_PartsOfTheCallsAreTheWhole: as TestF53_PartsOfTheAttemptsAreTheWhole.
func TestF53_PartsOfTheCallsAreTheWhole(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		for _, r := range w.runs {
			whole, err := w.in.Calls(w.Context(), r.WorkflowID, r.ID, view.CallRange{})
			if err != nil {
				t.Fatal(err)
			}
			ended := map[int64]int{}
			for _, d := range r.attempts {
				ended[d.call]++
			}
			if len(whole) != len(ended) {
				t.Errorf("%d calls have ended attempts, %d are summed up", len(ended), len(whole))
			}
			for _, c := range whole {
				if c.Attempts != ended[c.Call] || c.Failed != r.calls[c.Call-1].failed || c.Outcome != r.calls[c.Call-1].outcome {
					t.Errorf("call %+v is summed up as %+v", r.calls[c.Call-1], c)
				}
			}
			part, got := view.CallRange{Limit: rapid.IntRange(1, 3).Draw(t, "limit")}, []view.CallAttempts(nil)
			for pages := 0; pages <= len(whole); pages++ {
				some, err := w.in.Calls(w.Context(), r.WorkflowID, r.ID, part)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, some...); len(some) < part.Limit {
					break
				}
				part.After = some[len(some)-1].Call
			}
			if g, w := string(asJSON(t, got)), string(asJSON(t, whole)); g != w && len(got)+len(whole) > 0 {
				t.Errorf("in parts\n%s\nas a whole\n%s", g, w)
			}
		}
	})
}

// TestI12_PartsOfAHistoryAreTheWhole: wherever a part of a history begins and whatever call it
// is of, its events are those of the whole, each with the name of its call.
func TestI12_PartsOfAHistoryAreTheWhole(t *testing.T) {
	inWorlds(t, func(t *rapid.T, w *world) {
		for _, r := range w.runs {
			whole, err := w.in.Events(w.Context(), r.WorkflowID, r.ID, view.HistoryRange{})
			if err != nil {
				t.Fatal(err)
			}
			for _, ev := range whole {
				if ev.Call > 0 && (ev.Call > int64(len(r.calls)) || ev.Name != r.calls[ev.Call-1].name) {
					t.Errorf("an event of call %d has the name %q", ev.Call, ev.Name)
				}
			}
			part, got := view.HistoryRange{Limit: rapid.IntRange(1, 6).Draw(t, "limit"), Call: rapid.Int64Range(0, 4).Draw(t, "call")}, []view.Event(nil)
			first := 0
			if rapid.Bool().Draw(t, "from within") {
				first = rapid.IntRange(0, len(whole)-1).Draw(t, "first") + 1
				part.After = view.Place{Turn: whole[first-1].Turn, Event: whole[first-1].Number}
			}
			for pages := 0; pages <= len(whole); pages++ {
				some, err := w.in.Events(w.Context(), r.WorkflowID, r.ID, part)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, some...); len(some) < part.Limit {
					break
				}
				part.After = view.Place{Turn: some[len(some)-1].Turn, Event: some[len(some)-1].Number}
			}
			want := slices.DeleteFunc(slices.Clone(whole[first:]), func(ev view.Event) bool { return part.Call > 0 && ev.Call != part.Call })
			if g, w := string(asJSON(t, got)), string(asJSON(t, want)); g != w && len(got)+len(want) > 0 {
				t.Errorf("in parts of %d from %d of call %d\n%s\nas a whole\n%s", part.Limit, first, part.Call, g, w)
			}
		}
	})
}

// TestE22_CursorsComeBackAsTheyWere: and no other text is one.
func TestE22_CursorsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := store.LedgerKey{
			Ended: rapid.Int64().Draw(t, "ended"), Run: rapid.StringMatching(`[a-z0-9-]{0,40}`).Draw(t, "run"),
			Call: rapid.Int64().Draw(t, "call"), Number: rapid.Int().Draw(t, "number"),
		}
		if got, err := parseCursor(cursor(key)); got != key || err != nil {
			t.Errorf("%+v came back as %+v, %v", key, got, err)
		}
		_, _ = parseCursor(rapid.String().Draw(t, "text")) // never panics
	})
}

// asJSON encodes a value as its users see it.
func asJSON(t rapid.TB, v any) []byte {
	text, err := jsonOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
