package request

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestE119_AMoveIsForeseen: what would become of each run, by the builds of the nodes; only pinned
// runs of the named build are meant.
func TestE119_AMoveIsForeseen(t *testing.T) {
	here(t, func(a *asker) {
		a.Must(a.DB.Join(a.ctx, store.Node{ID: "two", Name: "node-2", Lease: time.Hour, Build: "b2", Definitions: `{"workflows":[{"name":"pinned"}]}`}))
		a.Define("pinned", charges())
		a.Define("free", charges())
		a.start("free", "f")
		a.Config = func(c *core.Config) { c.Build = "b1" }
		a.start("pinned", "p")
		to := core.Control{Operation: core.MoveTheRun, From: "b1", To: "b2"}
		records, err := a.Preview(a.ctx, "p", to)
		if err != nil || len(records) != 1 || !strings.HasSuffix(records[0].Note, "; the node node-2 has build b2 with other code of the workflow: it would continue there, or be parked if that does not fit its history") {
			a.Errorf("it is foreseen as %+v, %v", records, err)
		}
		var refused *RefusedError
		for id, in := range map[string]core.Control{"f": to, "p": {Operation: core.MoveTheRun, From: "b7", To: "b2"}} {
			if _, err := a.Preview(a.ctx, id, in); !errors.As(err, &refused) || refused.Record.Note == "" {
				a.Errorf("%s: %v", id, err)
			}
		}
		dry, err := a.ControlAll(a.ctx, view.Filter{}, to, true)
		if err != nil || dry.Runs != 1 || dry.Records[0].WorkflowID != "p" || !strings.Contains(dry.Records[0].Note, "node-2") {
			a.Errorf("of all: %+v, %v", dry, err)
		}
		moved, err := a.ControlSelected(a.ctx, dry.Selection, to, false)
		if err != nil || moved.Applied != 1 || a.detail("p").Pin != "b2" {
			a.Errorf("moved are %+v, %v; it is of build %q", moved, err, a.detail("p").Pin)
		}
	})
}

// TestI24_ASelectionKeepsARunThatIsDamagedSince: as refused, not as gone.
func TestI24_ASelectionKeepsARunThatIsDamagedSince(t *testing.T) {
	here(t, func(a *asker) {
		bad := a.wait("bad")
		a.wait("good")
		in := core.Control{Operation: core.RetryNow, Calls: core.Selection{States: []string{view.CallBackoff}}}
		dry, err := a.ControlAll(a.ctx, view.Filter{}, in, true)
		if err != nil || dry.Runs != 2 {
			a.Fatal(dry, err)
		}
		bad.Park(core.Detail{Reason: "turn 2 is damaged", Damaged: true})
		got, err := a.ControlSelected(a.ctx, dry.Selection, in, false)
		if err != nil || got.Applied != 1 || got.Refused != 1 || got.Gone != 0 {
			a.Errorf("it is %+v, %v", got, err)
		}
	})
}

// noted is an interceptor that notes what it is asked, and adds a header to starts.
type noted struct{ ops []string }

func (n *noted) intercept(ctx context.Context, op *intercept.Op, next intercept.Next) error {
	n.ops = append(n.ops, strings.Join(strings.Fields(fmt.Sprint(op.Kind, " ", op.Name, " ", op.WorkflowID)), " "))
	if op.Headers != nil {
		op.Headers["tenant"] = "9"
	}
	return next(ctx)
}

// TestE110_EveryVerbIsIntercepted: with its kind, its name and whom it is for; the headers that an
// interceptor sets are those of the run.
func TestE110_EveryVerbIsIntercepted(t *testing.T) {
	here(t, func(a *asker) {
		n := &noted{}
		chain, err := around.New([]intercept.Interceptor{intercept.New("noted", n.intercept)}, nil)
		a.Must(err)
		a.Client.around = chain
		a.Define("counter", counter)
		a.start("counter", "c")
		a.Must(a.Signal(a.ctx, "c", "s", "", history.Payload{}))
		_, err = a.Query(a.ctx, "c", "", "sum", history.Payload{})
		a.Must(err)
		_, err = a.Update(a.ctx, "c", "add", "", roomtest.Payload(1))
		a.Must(err)
		_, err = a.Control(a.ctx, "c", "", core.Control{Operation: core.PauseTheRun})
		a.Must(err)
		_, err = a.SwitchActivity(a.ctx, "charge", true, 0, "", By{})
		a.Must(err)
		a.Must(a.Cancel(a.ctx, "c", "", By{}))
		a.Must(a.Terminate(a.ctx, "c", "", By{}))
		start, err := record.Start(a.state("c"))
		if err != nil || start.Headers["tenant"] != "9" {
			a.Errorf("its headers are %v, %v", start.Headers, err)
		}
		want := []string{
			fmt.Sprint(intercept.Start, " counter c"), fmt.Sprint(intercept.Signal, " s c"), fmt.Sprint(intercept.Query, " sum c"), fmt.Sprint(intercept.Update, " add c"),
			fmt.Sprint(intercept.Operate, " pause-run c"), fmt.Sprint(intercept.Operate, " pause-activity"), fmt.Sprint(intercept.Cancel, " c"), fmt.Sprint(intercept.Terminate, " c"),
		}
		if !slices.Equal(n.ops, want) {
			a.Errorf("it was asked for %q, not %q", n.ops, want)
		}
	})
}
