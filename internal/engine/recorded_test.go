package engine_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	when "github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var recordNew = flag.Bool("record", false, "record the histories that testdata/histories lacks")

// recordedIn is where the histories of this version are. They are never changed: a
// program that cannot go on with them would park the runs of its users. The next
// version gets a directory of its own beside it.
const recordedIn = "testdata/histories/0.1"

// recording is a recorded history and the shape whose code made it.
type recording struct {
	*shape
	history history.Recording
}

// recordings are the recorded histories of all shapes, of each run of a chain one.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	for i := range shapes {
		s := &shapes[i]
		last := filepath.Join(recordedIn, s.name+".json")
		if _, err := os.Stat(last); errors.Is(err, os.ErrNotExist) && *recordNew {
			recordCalm(t, *s, last)
		}
		files, err := filepath.Glob(filepath.Join(recordedIn, s.name+".[0-9]*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, last) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%v\nRecord what is new: go test ./internal/engine -run TestE41_Recorded -record", err)
				continue
			}
			r, err := history.DecodeRecording(data)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, recording{s, r})
		}
	}
	return all
}

// recordCalm plays a shape without faults and writes the history of its last run
// into a file, and that of earlier ones beside it.
func recordCalm(t *testing.T, s shape, last string) {
	stage := newStage(t, everywhere[0], s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		stage.play(t, env, s)
		runs := chainOf(env, theID)
		for i, run := range runs {
			document, err := env.Engine().Workflow(theID).OfRun(run.RunID).Record(t.Context())
			file := last
			if i < len(runs)-1 {
				file = strings.TrimSuffix(last, "json") + fmt.Sprint(i+1, ".json")
			}
			if err = errors.Join(err, os.MkdirAll(recordedIn, 0o777), os.WriteFile(file, document, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}, stage.options...)
}

func replayed(r history.Recording, s *shape) error {
	return replay.Recording(r, seal.Of(s.workflow(newBook())), time.Minute)
}

// TestE41_RecordedHistories: code goes on with every history that an earlier
// version has recorded.
func TestE41_RecordedHistories(t *testing.T) {
	for _, recorded := range recordings(t) {
		s, r := recorded.shape, recorded.history
		if err := replayed(r, s); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		for n := range r.Turns { // of a run that is under way
			if err := replayed(history.Recording{Start: r.Start, Turns: r.Turns[:n]}, s); err != nil {
				t.Errorf("%s, the first %d turns: %v", s.name, n, err)
			}
		}
	}
}

// unrecorded are kinds of events that no recorded history has to have, and why.
var unrecorded = map[string]string{
	"RunStarted": "it stands before the history",
}

// TestE41_EveryKindOfEventIsRecorded: a version that could not go on with some kind would
// not be noticed otherwise.
func TestE41_EveryKindOfEventIsRecorded(t *testing.T) {
	recorded := map[string]bool{}
	all := recordings(t)
	for _, r := range append(all, recording{history: scheduledStart(t)}) {
		for _, turn := range r.history.Turns {
			for _, e := range turn.Events {
				recorded[string(e.Kind)] = true
			}
		}
	}
	source, err := parser.ParseFile(token.NewFileSet(), "../history/event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	ast.Inspect(source, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || spec.Type == nil || fmt.Sprint(spec.Type) != "Kind" {
			return true
		}
		kinds++
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if _, excused := unrecorded[kind]; recorded[kind] == excused {
			t.Errorf("%s: recorded %t, excused %t: a shape of the crash tests that has it is recorded with -record", kind, recorded[kind], excused)
		}
		return true
	})
	if kinds < 30 {
		t.Errorf("only %d kinds are found", kinds)
	}
}

// errand is what a schedule starts whose runs are recorded.
var errand = workflow.New("errand", func(wf *workflow.Context, in string) (string, error) {
	nominal := workflow.GetInfo(wf).Nominal
	if err := workflow.Sleep(wf, time.Minute); err != nil {
		return "", err
	}
	return fmt.Sprint(in, " ", nominal.Unix()), nil
})

// scheduledStart is the recorded history of a run that a schedule started.
func scheduledStart(t *testing.T) history.Recording {
	t.Helper()
	file := filepath.Join(recordedIn, "scheduled-start.json")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) && *recordNew {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			e := w.start(errand)
			input, err := history.Encode("in")
			if err == nil {
				err = e.SetSchedule(t.Context(), "daily", when.Spec{Every: 24 * time.Hour}, request.Start{Type: errand.Name(), Input: input})
			}
			if err != nil {
				t.Fatal(err)
			}
			pass(25 * time.Hour)
			runs, err := e.List(t.Context(), view.Filter{})
			if err != nil || len(runs) != 1 {
				t.Fatal(runs, err)
			}
			r, err := e.Record(t.Context(), runs[0].WorkflowID, "")
			if err != nil {
				t.Fatal(err)
			}
			document, err := history.EncodeRecording(r)
			if err = errors.Join(err, os.WriteFile(file, document, 0o666)); err != nil {
				t.Fatal(err)
			}
		})
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := history.DecodeRecording(data)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestE41_RecordedScheduledStart: code goes on with a history that a schedule began, and
// knows its nominal time.
func TestE41_RecordedScheduledStart(t *testing.T) {
	r := scheduledStart(t)
	if s := r.Start.Scheduled; s == nil || s.Nominal == 0 || r.Start.Parent == nil {
		t.Fatalf("it was not started by a schedule: %+v", r.Start)
	}
	for n := range len(r.Turns) + 1 {
		if err := replay.Recording(history.Recording{Start: r.Start, Turns: r.Turns[:n]}, seal.Of(errand), time.Minute); err != nil {
			t.Errorf("the first %d turns: %v", n, err)
		}
	}
}

// TestE41_Mutants: a history with a command changed, left out, doubled or put
// elsewhere does not fit its code; one of which only that has changed which need
// not be the same does.
func TestE41_Mutants(t *testing.T) {
	extent.NotInShort(t, "one goroutine replays thousands of histories")
	caught, accused := 0, 0
	for _, recorded := range recordings(t) {
		s, r := recorded.shape, recorded.history
		for turn := range r.Turns {
			for at := range r.Turns[turn].Events {
				if !r.Turns[turn].Events[at].Kind.Command() || deferred(r.Turns[turn]) {
					continue
				}
				for name, mutate := range mutants {
					m := clone(t, r)
					if !mutate(&m.Turns[turn], at) {
						continue
					}
					err := replayed(m, s)
					if _, mismatch := errors.AsType[*core.Mismatch](err); !mismatch {
						t.Errorf("%s: turn %d, event %d, %s: got %v, want a mismatch", s.name, turn+1, at+1, name, err)
					}
					caught++
				}
				for name, change := range compatible {
					m := clone(t, r)
					change(&m.Turns[turn], at)
					if err := replayed(clone(t, m), s); err != nil {
						t.Errorf("%s: turn %d, event %d, %s: %v", s.name, turn+1, at+1, name, err)
					}
					accused++
				}
			}
		}
	}
	if caught < 40 || accused < 1000 {
		t.Errorf("there were %d mutants and %d compatible histories; want 40 and 1,000", caught, accused)
	}
	t.Logf("%d mutants, %d compatible histories", caught, accused)
}

// deferred says that the code had no part in a turn: not even in the end of its
// run, if it never began.
func deferred(turn history.RecordedTurn) bool {
	return slices.ContainsFunc(turn.Events, func(e history.Event) bool { return e.Kind == history.CodeDeferred })
}

// mutants change a command of a turn, and answer false if they do not apply.
var mutants = map[string]func(turn *history.RecordedTurn, at int) bool{
	"left out": func(turn *history.RecordedTurn, at int) bool {
		if turn.Events[at].Kind == history.BlockStarted {
			return false // as in histories of before it was there
		}
		turn.Events = append(turn.Events[:at:at], turn.Events[at+1:]...)
		return true
	},
	"another name": func(turn *history.RecordedTurn, at int) bool {
		e := &turn.Events[at]
		e.Name += "-other"
		return true
	},
	"another kind": func(turn *history.RecordedTurn, at int) bool {
		e := &turn.Events[at]
		switch e.Kind {
		case history.ActivityScheduled:
			e.Kind = history.StepScheduled
		case history.StepScheduled:
			e.Kind = history.ActivityScheduled
		case history.TimerStarted:
			e.Kind = history.SignalAwaited
		case history.ChildScheduled:
			e.Kind = history.DetachedScheduled
		case history.DetachedScheduled:
			e.Kind = history.ChildScheduled
		case history.RunCompleted:
			e.Kind = history.RunFailed
		case history.RunFailed, history.RunCanceled, history.RunContinued:
			e.Kind = history.RunCompleted
		default:
			return false
		}
		return true
	},
	"another input": func(turn *history.RecordedTurn, at int) bool {
		e := &turn.Events[at]
		switch e.Kind {
		case history.ActivityScheduled, history.ChildScheduled, history.DetachedScheduled:
			e.Input, _ = history.Encode("something else")
		case history.RunCompleted:
			e.Result, _ = history.Encode("something else")
		case history.RunContinued:
			if e.Initiator == history.RetryOfRun {
				e.Failure.Message += " else"
			}
			e.Input, _ = history.Encode("something else")
		default:
			return false
		}
		return true
	},
	"another workflow ID": func(turn *history.RecordedTurn, at int) bool {
		e := &turn.Events[at]
		e.ID += "-other"
		return e.Kind == history.ChildScheduled || e.Kind == history.DetachedScheduled || e.Kind == history.SignalSent
	},
	"doubled": func(turn *history.RecordedTurn, at int) bool {
		if turn.Events[at].Kind.Terminal() {
			return false // the run is over: nobody asks any more
		}
		last := len(turn.Events) - 1
		if turn.Events[last].Kind.Terminal() {
			return false
		}
		turn.Events = append(turn.Events, turn.Events[at])
		return true
	},
	"before the other": func(turn *history.RecordedTurn, at int) bool {
		if at == 0 || !turn.Events[at-1].Kind.Command() {
			return false
		}
		a, b := &turn.Events[at-1], &turn.Events[at]
		if a.Kind == b.Kind && a.Name == b.Name && a.Input.Equal(b.Input) && a.Call != b.Call && a.Kind != history.TimerCanceled && a.Kind != history.CallCancelRequested {
			return false // they are alike
		}
		*a, *b = *b, *a
		return true
	},
}

// compatible change what may differ between history and code.
var compatible = map[string]func(turn *history.RecordedTurn, at int){
	"another due time": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; e.Kind == history.TimerStarted {
			e.Due += int64(time.Minute)
		}
	},
	"another kind of child": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; e.Child != nil {
			e.Child = &history.Child{Run: e.Child.Run + "1", OnParentClose: history.AbandonChild}
			e.Due += int64(time.Minute)
		}
	},
	"no policy": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; e.Kind != history.BlockStarted { // whose policy the code goes by
			e.Policy = nil
		}
	},
	"another queue": func(turn *history.RecordedTurn, at int) { turn.Events[at].Queue = "elsewhere" },
	"another trace": func(turn *history.RecordedTurn, at int) { turn.Events[at].Trace = "00-1-2-01" },
	"another next run": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; e.Kind == history.RunContinued {
			e.ID, e.Due, e.Deadline, e.Attempt = "another", e.Due+1, e.Deadline+1, e.Attempt+1
		}
	},
	"other spaces in the input": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; !e.Input.Absent() {
			raw, err := json.Marshal(e.Input)
			if err == nil {
				_ = json.Unmarshal([]byte(strings.ReplaceAll(string(raw), ":", ": ")), &e.Input)
			}
		}
	},
	"a policy": func(turn *history.RecordedTurn, at int) {
		if e := &turn.Events[at]; e.Kind == history.ActivityScheduled || e.Kind == history.StepScheduled {
			e.Policy = &retry.Policy{MaxAttempts: 77}
		}
	},
	"other times of attempts": func(turn *history.RecordedTurn, at int) {
		for i := range turn.Events {
			if e := &turn.Events[i]; !e.Kind.Command() {
				e.Started, e.Ended, e.Queued = e.Started+1, e.Ended+1, e.Queued+1
			}
		}
	},
	"no attempts": func(turn *history.RecordedTurn, at int) {
		turn.Events = slices.DeleteFunc(turn.Events, func(e history.Event) bool { return e.Kind == history.AttemptStarted })
	},
	"no retry summary": func(turn *history.RecordedTurn, at int) {
		for i := range turn.Events {
			turn.Events[i].Retry = nil
		}
	},
	"another node": func(turn *history.RecordedTurn, at int) {
		for i := range turn.Events {
			if turn.Events[i].Kind == history.AttemptStarted {
				turn.Events[i].Node = "elsewhere"
			}
		}
	},
}

func clone(t *testing.T, r history.Recording) history.Recording {
	t.Helper()
	data, err := history.EncodeRecording(r)
	if err == nil {
		r, err = history.DecodeRecording(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestE47_ReplayOfStuckCode: code that does not come to an end is left behind.
func TestE47_ReplayOfStuckCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan int)
		stuck := workflow.New("stuck", func(wf *workflow.Context, _ int) (int, error) {
			//perdure:deterministic what it leads to is what is tested
			return <-never, nil
		})
		r := history.Recording{
			Start: history.Start{WorkflowID: "w", Run: "r", Type: "stuck", Attempt: 1},
			Turns: []history.RecordedTurn{{Number: 1, Events: []history.Event{{Kind: history.SignalAwaited, Call: 1, Name: "s"}}}},
		}
		r.Start.Input, _ = history.Encode(1)
		if err := replay.Recording(r, seal.Of(stuck), time.Minute); err == nil || !strings.Contains(fmt.Sprint(err), "ran for 1m0s without waiting") {
			t.Errorf("got %v", err)
		}
		close(never)
		synctest.Wait()
	})
}
