package perduretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
)

// replayLimit is how long a replay may take. It waits for nothing, so only a loop
// takes longer.
const replayLimit = 30 * time.Second

// Replay runs the code of a workflow against a history that was recorded with
// [perdure.Handle.Record], with the command `perdure history ID --record`, or with `perdure
// export`, which writes one run a line: then all of them are replayed. It returns nil if the
// code fits: a run with this history can continue with it. Keep recordings of open runs beside
// the tests, and change the code freely as long as they pass.
//
//	recorded, err := os.ReadFile("testdata/order-17.json")
//	...
//	err = perduretest.Replay(recorded, Checkout)
//
// A *Difference says where the code makes another call than the recording. Delays and
// policies may differ: the recorded ones apply. Any other error says that the recording
// cannot be read, that none of the definitions is its workflow, or that the code panicked
// or did not end. No activity runs and no time passes. Replay may be called from several
// goroutines.
func Replay(recorded []byte, definitions ...perdure.Definition) error {
	all, err := history.DecodeRecordings(recorded)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := replayOne(r, definitions); err != nil && len(all) > 1 {
			return fmt.Errorf("workflow %s, run %s: %w", r.Start.WorkflowID, r.Start.Run, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func replayOne(r history.Recording, definitions []perdure.Definition) error {
	for _, d := range definitions {
		w, ok := d.(seal.Workflow)
		if !ok || w.Name() != r.Start.Type {
			continue
		}
		def := seal.Of(w)
		if def.Begin == nil {
			return fmt.Errorf("the workflow %q is declared but has no code; pass what its Impl method returns", def.Name)
		}
		return difference(replay.Recording(r, def, replayLimit))
	}
	return fmt.Errorf("the recording is of the workflow %q, which is not among the definitions; pass its definition too %s", r.Start.Type, see.Testing)
}

// Difference is the first place at which code and history differ.
type Difference struct {
	Turn    int64 // of the history, from 1
	Command int   // among those of the turn, from 1

	// What the history has there and what the code called, as JSON; empty if there is nothing
	// more.
	Recorded, Asked string

	text string
}

// Error names what differs.
func (d *Difference) Error() string { return d.text }

func difference(err error) error {
	m, ok := errors.AsType[*core.Mismatch](err)
	if !ok {
		return err
	}
	d := &Difference{Turn: m.Turn, Command: m.Command, text: m.Error()}
	d.Recorded, d.Asked = asJSON(m.Expected), asJSON(m.Actual)
	return d
}

func asJSON(e *history.Event) string {
	if e == nil {
		return ""
	}
	text, _ := json.Marshal(e) // what was read as JSON can be written
	return string(text)
}
