package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

var progress = workflow.NewQuery[string, string]("progress")

// questioned is a workflow that knows how many signals it got, and tells.
func questioned(version string) workflow.Workflow[int, string] {
	return workflow.New("asked", func(wf *workflow.Context, n int) (string, error) {
		got := []string{}
		workflow.HandleQuery(wf, progress, func(in string) (string, error) {
			switch in {
			case "refuse":
				return "", fmt.Errorf("not now: %w", errRefused)
			case "panic":
				panic("no way")
			case "misuse":
				return "", workflow.Sleep(wf, time.Second)
			}
			return fmt.Sprintf("%s%d of %d: %s", in, len(got), n, strings.Join(got, " ")), nil
		})
		for len(got) < n {
			s, err := workflow.Receive(wf, poke)
			if err != nil {
				return "", err
			}
			got = append(got, s)
		}
		workflow.HandleQuery(wf, progress, func(in string) (string, error) { return in + "all", nil })
		return "done", nil
	}, workflow.Version(version))
}

// query asks as the root does.
func query(ctx context.Context, e *engine.Engine, id, name string, in any) (string, error) {
	input, err := history.Encode(in)
	if err != nil {
		return "", err
	}
	answer, err := e.Query(ctx, id, "", name, input)
	if err != nil {
		return "", err
	}
	var out string
	return out, errors.Join(answer.Decode(&out), nil)
}

// expectAnswer demands an answer.
func expectAnswer(t *testing.T, e *engine.Engine, in, want string) {
	t.Helper()
	input, _ := history.Encode(in)
	got, err := e.Query(t.Context(), "w", "", progress.Name(), input)
	var text string
	if err == nil {
		err = got.Decode(&text)
	}
	if err != nil || text != want {
		t.Errorf("asked %q, the answer is %q, %v; want %q", in, text, err, want)
	}
}

// askers are the engine that serves the runs and a client without code.
func askers(t *testing.T, w *world, definitions ...any) (served *engine.Engine, all []*engine.Engine) {
	served = w.start(definitions...)
	all = []*engine.Engine{served}
	if w.in.shared {
		all = append(all, w.open(w.config()))
	}
	return served, all
}

// TestE40_Queries: a run answers from what is durable, while it waits and when it
// has ended, to its owner and to others; nothing of that is on record.
func TestE40_Queries(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, questioned("1"))
		begin(t, e, questioned("1"), "w", 2)
		settle()
		for _, from := range all {
			before := w.plans[e].Writes()
			for range 3 {
				expectAnswer(t, from, "", "0 of 2: ")
			}
			if writes := w.plans[e].Writes() - before; from == e && writes > 0 {
				t.Errorf("the owner wrote %d times to answer itself", writes)
			}
		}
		signal(t, e, "w", poke.Name(), "", "a")
		settle()
		for _, from := range all {
			expectAnswer(t, from, "so far ", "so far 1 of 2: a")
		}
		before := len(eventsOf(t, e, "w"))
		stop(t, e)
		e = w.start(questioned("1")) // after a replay
		all[0] = e
		for _, from := range all {
			expectAnswer(t, from, "", "1 of 2: a")
		}
		if after := len(eventsOf(t, e, "w")); after != before {
			t.Errorf("the history had %d events before it was asked and %d after", before, after)
		}
		signal(t, e, "w", poke.Name(), "", "b")
		settle()
		for _, from := range all {
			expectAnswer(t, from, "", "all")
		}
	})
}

// TestE40_QueriesThatFail: each way in which there is no answer has an error of its
// own, from here and from elsewhere; the run goes on.
func TestE40_QueriesThatFail(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, questioned("1"))
		begin(t, e, questioned("1"), "w", 1)
		settle()
		for _, from := range all {
			for _, c := range []struct {
				id, name, in string
				is           error
				text         string
			}{
				{"w", "progress", "refuse", errRefused, "not now: refused"},
				{"w", "progress", "panic", nil, `the handler of query "progress" panicked: no way`},
				{"w", "progress", "misuse", nil, "the handler of a query"},
				{"w", "unknown", "", workflow.ErrNoHandler, `the run has no handler for the query "unknown"; it has progress`},
				{"nobody", "progress", "", store.ErrNotFound, ""},
				{"w", "", "", nil, "the query name is empty"},
				{"", "progress", "", nil, "the workflow ID is empty"},
			} {
				_, err := query(t.Context(), from, c.id, c.name, c.in)
				if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("%q %q: %v, want %v, %s", c.name, c.in, err, c.is, c.text)
				}
			}
			if _, err := query(t.Context(), from, "w", "progress", 7); err == nil || !strings.Contains(err.Error(), "does not fit type *string") {
				t.Errorf("an input of another type: %v", err)
			}
			expectAnswer(t, from, "", "0 of 1: ")
		}
	})
}

// TestE40_QueriesWithoutCode: a query of a parked run, of a run without code or of a run
// without an owner returns that as an error, in time.
func TestE40_QueriesWithoutCode(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		e, all := askers(t, w, questioned("1"))
		begin(t, e, questioned("1"), "w", 1)
		settle()
		stop(t, e)
		for _, c := range []struct {
			code any
			want error
		}{
			{workflow.New("asked", func(wf *workflow.Context, _ int) (string, error) {
				return "", workflow.Sleep(wf, time.Hour)
			}, workflow.Version("2")), engine.ErrParked},
			{workflow.New("another", func(*workflow.Context, int) (int, error) { return 0, nil }), engine.ErrNoCode},
		} {
			e = w.start(c.code)
			all[0] = e
			for _, from := range all {
				if _, err := query(t.Context(), from, "w", "progress", ""); !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			}
			stop(t, e)
		}
		if len(all) > 1 { // now nobody serves it
			began := time.Now()
			_, err := query(t.Context(), all[1], "w", "progress", "")
			if took := time.Since(began); !errors.Is(err, request.ErrUnanswered) || took != request.QueryTime {
				t.Errorf("after %s: %v", took, err)
			}
			short, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := query(short, all[1], "w", "progress", ""); !errors.Is(err, request.ErrUnanswered) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a second to wait: %v", err)
			}
		}
		late := make(chan error, 1) // and now somebody serves it while one waits
		if len(all) > 1 {
			go func() {
				_, err := query(t.Context(), all[1], "w", "progress", "")
				late <- err
			}()
			pass(3 * time.Second)
		}
		e = w.start(questioned("1"))
		if len(all) > 1 {
			if err := <-late; err != nil {
				t.Errorf("asked before it was served: %v", err)
			}
		}
		signal(t, e, "w", poke.Name(), "", "a")
		if out, err := finish[string](t, e, "w"); out != "done" || err != nil {
			t.Errorf("the run ended with %q, %v", out, err)
		}
		stop(t, e)
		e = w.start() // it has ended, and its code is gone
		all[0] = e
		for _, from := range all {
			if _, err := query(t.Context(), from, "w", "progress", ""); !errors.Is(err, engine.ErrNoCode) {
				t.Errorf("of the ended run: %v", err)
			}
		}
	})
}

// TestE40_QueriesBetweenTurns: an answer shows what one turn left, never a part of
// it, whoever asks when.
func TestE40_QueriesBetweenTurns(t *testing.T) {
	needsNumbers.inBothModes(t, func(t *testing.T, w *world) {
		def := workflow.New("counts", func(wf *workflow.Context, n int) (string, error) {
			a, b := 0, 0
			workflow.HandleQuery(wf, progress, func(string) (string, error) { return fmt.Sprint(a, " ", b), nil })
			for a < n {
				if _, err := workflow.Receive(wf, poke); err != nil {
					return "", err
				}
				a++
				workflow.SideEffect(wf, "between", func() int { return 1 })
				b++
			}
			return "", nil
		})
		e, all := askers(t, w, def)
		const signals = 30
		begin(t, e, def, "w", signals)
		var work sync.WaitGroup
		for i := range 6 {
			from := all[i%len(all)]
			work.Go(func() {
				for last := 0; last < signals; {
					time.Sleep(100 * time.Microsecond) // virtual time passes while all wait
					text, err := query(t.Context(), from, "w", "progress", "")
					a, b := 0, 0
					if _, scan := fmt.Sscan(text, &a, &b); err != nil || scan != nil || a != b || a < last {
						t.Errorf("after %d it answers %q, %v", last, text, err)
						return
					}
					last = a
				}
			})
		}
		for i := range signals {
			signal(t, e, "w", poke.Name(), "", fmt.Sprint(i))
			time.Sleep(time.Millisecond)
		}
		work.Wait()
	})
}

// TestE40_QueriesLeaveNothing: queries whose callers have given up, and replies that were not
// fetched, do not stay in the inbox.
func TestE40_QueriesLeaveNothing(t *testing.T) {
	needsQueries.inBothModesShared(t, 1, func(t *testing.T, w *world) {
		w.patient = false
		e := w.start(questioned("1"))
		begin(t, e, questioned("1"), "w", 1)
		settle()
		stop(t, e)
		client := w.open(w.config())
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := query(short, client, "w", "progress", ""); !errors.Is(err, request.ErrUnanswered) {
			t.Fatal(err)
		}
		ctx, gone := context.WithTimeout(t.Context(), time.Hour)
		asking := make(chan error)
		go func() {
			_, err := query(ctx, client, "w", "progress", "")
			asking <- err
		}()
		time.Sleep(time.Second)
		gone() // he does not wait, and the question says that he does
		<-asking
		e = w.start(questioned("1"))
		if n := w.inInbox(); n != 1 {
			t.Errorf("%d messages wait, want one answer", n)
		}
		pass(2 * time.Minute)
		if n := w.inInbox(); n != 0 {
			t.Errorf("%d messages wait when nobody can want them any more", n)
		}
		expectAnswer(t, e, "", "0 of 1: ")
	})
}

// inInbox is how many messages wait, when nothing happens any more.
func (w *world) inInbox() int {
	w.t.Helper()
	settle()
	db, err := w.db.Open(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	messages, err := db.Inbox(w.t.Context(), []int{0}, store.InboxRead{})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(messages)
}

// TestE47_StuckHandler: a handler that does not return is left behind; its run is
// loaded anew and answers others.
func TestE47_StuckHandler(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		never := make(chan int)
		def := workflow.New("stuck", func(wf *workflow.Context, _ int) (string, error) {
			workflow.HandleQuery(wf, progress, func(in string) (string, error) {
				if in == "wait" {
					//perdure:deterministic what it leads to is what is tested
					<-never
				}
				return "here", nil
			})
			return workflow.Receive(wf, poke)
		}, workflow.Version("1"))
		c := w.config(def)
		c.TurnTimeout = time.Second
		e := w.startWith(c)
		begin(t, e, def, "w", 1)
		settle()
		if _, err := query(t.Context(), e, "w", "progress", "wait"); err == nil || !strings.Contains(err.Error(), `the handler of query "progress" did not return`) {
			t.Errorf("got %v", err)
		}
		expectAnswer(t, e, "", "here")
		close(never)
		settle()
		signal(t, e, "w", poke.Name(), "", "end")
		if out, err := finish[string](t, e, "w"); out != "end" || err != nil {
			t.Errorf("the run ended with %q, %v", out, err)
		}
	})
}
