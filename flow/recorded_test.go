package flow_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/perduretest"
)

var recordNew = flag.Bool("record", false, "record the histories that testdata/histories lacks")

// recordedIn is where the histories of this version are. They are never changed: an
// interpreter that cannot continue with them would park the runs of its users. What has
// to run differently is another version of the language.
const recordedIn = "testdata/histories/0.1"

// recorded are the programs whose histories are kept.
func recorded() map[string]string {
	all := map[string]string{"tour": tour, "canceled": canceled}
	for name, s := range shapes {
		all[name] = s.text
	}
	return all
}

// TestE41_RecordedFlows: the interpreter continues with every history that an earlier
// version has recorded, and with every beginning of one.
func TestE41_RecordedFlows(t *testing.T) {
	definitions := newWorld().runtime(t).Definitions()
	for name, text := range recorded() {
		path := filepath.Join(recordedIn, name+".json")
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && *recordNew {
			record(t, name, text, path)
		}
		document, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("%v\nRecord what is new: go test ./flow -run TestE41_RecordedFlows -record", err)
			continue
		}
		r, err := history.DecodeRecording(document)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for n := range len(r.Turns) + 1 {
			part, err := history.EncodeRecording(history.Recording{Start: r.Start, Turns: r.Turns[:n]})
			if err == nil {
				err = perduretest.Replay(part, definitions...)
			}
			if err != nil {
				t.Errorf("%s, the first %d turns: %v", name, n, err)
			}
		}
		otherwise(t, name, r)
	}
}

// otherwise holds the replay to seeing a difference: the history of another program
// does not fit.
func otherwise(t *testing.T, name string, r history.Recording) {
	t.Helper()
	turn := r.Turns[0]
	last := &turn.Events[len(turn.Events)-1]
	last.Name, last.Due = last.Name+"-other", last.Due+1
	if last.Kind == history.TimerStarted {
		last.Kind, last.Name = history.ActivityScheduled, "echo"
	}
	document, err := history.EncodeRecording(r)
	if err == nil {
		err = perduretest.Replay(document, newWorld().runtime(t).Definitions()...)
	}
	if _, ok := errors.AsType[*perduretest.Difference](err); !ok {
		t.Errorf("%s: the history of another program fits: %v", name, err)
	}
}

// record runs a program and writes its history into a file.
func record(t *testing.T, name, text, path string) {
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		w := newWorld()
		defer close(w.hang)
		r := w.runtime(t)
		env.Register(r.Definitions()...)
		h, err := perduretest.Start(env, flow.Workflow, "run", program(t, r, name+".flow", text))
		if err != nil {
			t.Fatal(err)
		}
		if name == "canceled" {
			time.Sleep(time.Minute)
			if err := env.Workflow("run").Cancel("enough"); err != nil {
				t.Fatal(err)
			}
		}
		out, err := h.Result()
		t.Logf("%s: %s, %v", name, out, err)
		document, err := env.Engine().Workflow("run").Record(t.Context())
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, document, 0o666)); err != nil {
			t.Fatal(err)
		}
	})
}
