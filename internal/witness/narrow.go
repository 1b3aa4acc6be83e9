package witness

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/workflow"
)

// passes is how many calls of narrow pass its gates at a time, over all nodes, and passesOfKey how
// many of these are of one run key.
const (
	passes      = 2
	passesOfKey = 1
)

var (
	passage = gate.New("passage", passes, gate.WithPerKey(gate.PerKey{Limit: passesOfKey}))
	second  = gate.New("second passage", passes, gate.WithMode(gate.Hold))

	// narrow leads its calls through gates; those that hold two of them and those
	// that fail are among them.
	narrow = workflow.New("narrow", func(wf *workflow.Context, v int) (int, error) {
		for i := range 3 {
			through := activity.Through(passage)
			if i == 1 {
				through = activity.Through(second, passage)
			}
			var err error
			if v, err = workflow.Call(wf, act, Effect{Step: fmt.Sprint(narrowStep, i), Order: i, Value: v, Fails: v % 2}, through); err != nil {
				return 0, err
			}
		}
		return v, nil
	})
)

// KeyOf is the run key of a run: one of three for those of narrow.
func KeyOf(id string) string {
	if !strings.HasPrefix(id, narrow.Name()+" ") {
		return ""
	}
	return fmt.Sprint("key ", crc32.ChecksumIEEE([]byte(id))%3)
}

// keyed are the options with which a run is started.
func keyed(id string) (options []perdure.StartOption) {
	if key := KeyOf(id); key != "" {
		options = append(options, workflow.Key(key))
	}
	return options
}

// narrowStep begins the names of the steps of narrow.
const narrowStep = "n"

// crowd is how many runs come to the gates at a time in the job Crowding.
const crowd = 4 * passes

// Crowding is the job of many runs that want to pass the same gates at the same time.
func Crowding(ctx context.Context, c *Client, id string, v int) (runs []Run, err error) {
	handles := make([]perdure.Handle[int], crowd)
	for i := range handles {
		handles[i], err = start(ctx, c, narrow, fmt.Sprint(narrow.Name(), " of ", id, " ", i), v+i)
		runs = append(runs, Run{ID: handles[i].ID(), RunID: handles[i].RunID()})
		if err != nil {
			return runs, err
		}
	}
	for i, h := range handles {
		got, err := h.Result(ctx)
		if want := Repeat(3, v+i); err == nil && got != want {
			err = fmt.Errorf("the result of %s is %d, want %d", h.ID(), got, want)
		}
		if err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// judgeGate makes sure that no more bodies were behind the gate than it lets pass: of all runs, and of
// those of one key.
func (j *judge) judgeGate() {
	j.judgeCrowd(func(e Entry) (string, int) {
		if !isNarrow(e) {
			return "", 0
		}
		return "gate " + passage.Name(), passes
	})
	j.judgeCrowd(func(e Entry) (string, int) {
		if !isNarrow(e) {
			return "", 0
		}
		return "gate " + passage.Name() + " of " + KeyOf(e.Workflow), passesOfKey
	})
}

// isNarrow reports whether an entry is of an attempt behind the gate.
func isNarrow(e Entry) bool {
	return strings.HasPrefix(e.Workflow, narrow.Name()+" ") && strings.HasPrefix(e.Step, narrowStep)
}
