package upgradetest

import (
	"context"
	"errors"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var paid = workflow.NewSignal[int]("paid")

// charge fails when it is attempted for the first time. It is paused then.
var charge = activity.New("charge", func(ctx context.Context, amount int) (int, error) {
	if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
		return 0, errors.New("the gateway is down")
	}
	return amount, nil
}, activity.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}))

var order = workflow.New("order", func(wf *workflow.Context, amount int) (int, error) {
	charged, err := workflow.Call(wf, charge, amount)
	if err != nil {
		return 0, err
	}
	tip, err := workflow.Receive(wf, paid)
	return charged + tip, err
})

var quick = workflow.New("quick", func(_ *workflow.Context, in int) (int, error) { return 2 * in, nil })

// Open lets an engine work on an empty database under an earlier schema until one run has ended,
// one has a paused call and an unread signal, and one has not begun. It shows that an engine of
// the later schema leaves the database alone if it must not migrate, else migrates it and goes
// on with all of them, and that an engine of the earlier schema is refused from then on.
func Open(t *testing.T, earlier, later store.Opener) {
	t.Helper()
	u := &upgrade{t}
	paused := make(chan view.PausedCall, 1)
	before := u.engine(earlier, perdure.OnPaused(func(p view.PausedCall) { paused <- p }))
	u.must(before.Start(t.Context()))
	start(u, before, quick, "ended", 17)
	u.result(before, "ended", 34)
	start(u, before, order, "open", 5)
	<-paused
	u.must(before.Close())
	before = u.engine(earlier) // only a client
	u.must(paid.Send(t.Context(), before.Workflow("open"), 1))
	start(u, before, quick, "new", 4)
	u.must(before.Close())

	_, err := perdure.Open(t.Context(), later, perdure.NoMigrate(), perdure.Register(order, charge, quick))
	if outdated, ok := errors.AsType[*store.SchemaError](err); !ok || !errors.Is(err, perdure.ErrOlder) || outdated.Version+1 != outdated.Wanted {
		t.Errorf("an engine that may not migrate is opened with %v", err)
	}
	after := u.engine(later)
	u.must(after.Start(t.Context()))
	u.result(after, "ended", 34)
	u.result(after, "new", 8)
	record, err := after.Workflow("open").Attempts(t.Context())
	if err != nil || len(record) != 1 || record[0].Number != 1 || record[0].Outcome != view.OutcomeFailed || record[0].Message != "the gateway is down" {
		t.Errorf("the attempts before are %+v, %v", record, err)
	}
	if retried, err := ops.Control(t.Context(), after, "open", view.CallFilter{Name: "charge"}, ops.RetryNow()); err != nil || len(retried) != 1 {
		t.Errorf("retried %+v, %v", retried, err)
	}
	u.result(after, "open", 6)
	u.must(after.Close())
	if _, err := perdure.Open(t.Context(), earlier, perdure.Register(quick)); !errors.Is(err, perdure.ErrNewer) {
		t.Errorf("an engine of the earlier schema is opened with %v", err)
	}
}

type upgrade struct{ *testing.T }

func (u *upgrade) must(err error) {
	u.Helper()
	if err != nil {
		u.Fatal(err)
	}
}

func (u *upgrade) engine(db store.Opener, options ...perdure.Option) *perdure.Engine {
	u.Helper()
	e, err := perdure.Open(u.Context(), db, append(options, perdure.Register(order, charge, quick))...)
	u.must(err)
	u.Cleanup(func() { e.Close() })
	return e
}

func start(u *upgrade, e *perdure.Engine, w workflow.Workflow[int, int], id string, in int) {
	u.Helper()
	_, err := perdure.Start(u.Context(), e, w, id, in)
	u.must(err)
}

func (u *upgrade) result(e *perdure.Engine, id string, want int) {
	u.Helper()
	if got, err := perdure.Attach[int](e, id).Result(u.Context()); got != want || err != nil {
		u.Errorf("run %q returns %d, %v; want %d", id, got, err, want)
	}
}
