package codec_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE136_AnEngineWithoutTheCodecsIsRefused: it does not serve a database that others encode,
// and says what to do. One that only looks is let in. Codecs that only read are an answer, and so
// are those that were there and one more.
func TestE136_AnEngineWithoutTheCodecsIsRefused(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Opener{
		"memory":   func(*testing.T) store.Opener { return memory.New() },
		"sqlite":   func(t *testing.T) store.Opener { return sqlite.File(t.TempDir() + "/shop.db") },
		"postgres": func(t *testing.T) store.Opener { return postgres.URL(pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			serve := func(codecs ...codec.Codec) error {
				t.Helper()
				opener := db
				if codecs != nil {
					opener = codec.Over(db, codecs...)
				}
				eng, err := perdure.Open(t.Context(), opener, perdure.Register(patient))
				if err != nil {
					t.Fatal(err)
				}
				return errors.Join(eng.Start(t.Context()), eng.Close())
			}
			serves := func(codecs ...codec.Codec) {
				t.Helper()
				if err := serve(codecs...); err != nil {
					t.Errorf("it does not serve: %v", err)
				}
			}
			refused := func(missing []string, codecs ...codec.Codec) {
				t.Helper()
				err := serve(codecs...)
				refusal, is := errors.AsType[*store.CodecError](err)
				if !is || !slices.Equal(refusal.Missing, missing) || !strings.Contains(err.Error(), refusal.Location) || !strings.Contains(err.Error(), "codec.Over") {
					t.Errorf("it got %v; want %q to be missing", err, missing)
				}
			}
			aes, zip := keys(t, "2026-11"), codec.Compress(1)
			serves()
			serves(codec.Reading(aes)) // which encodes nothing and marks nothing
			serves()
			opened, err := perdure.Open(t.Context(), codec.Over(db, aes)) // nor does one that only looks
			if err != nil {
				t.Fatal(err)
			}
			if err := opened.Close(); err != nil {
				t.Fatal(err)
			}
			serves()
			serves(aes)
			refused([]string{aes.Name()})
			refused([]string{aes.Name()}, zip)
			serves(zip, aes)
			refused([]string{zip.Name()}, aes)
			serves(codec.Reading(zip), codec.Reading(aes))
			refused([]string{aes.Name(), zip.Name()})

			looks, err := perdure.Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			defer looks.Close()
			if runs, err := looks.List(t.Context(), view.Filter{}); err != nil {
				t.Errorf("who looks finds %v, %v", runs, err)
			}
		})
	}
}

// TestE138_StartersAndWorkersWithoutTheCodecsAreRefused: what would stand in clear in a database
// that others encode is not written, and what could not be read is not asked for. What has no
// payload goes: to look, to cancel, to pause.
func TestE138_StartersAndWorkersWithoutTheCodecsAreRefused(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) store.Opener{
		"memory":   func(*testing.T) store.Opener { return memory.New() },
		"sqlite":   func(t *testing.T) store.Opener { return sqlite.File(t.TempDir() + "/shop.db") },
		"postgres": func(t *testing.T) store.Opener { return postgres.URL(pgtest.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			db, ctx, aes, zip := open(t), t.Context(), keys(t, "2026-11"), codec.Compress(1)
			opened := func(codecs []codec.Codec, options ...perdure.Option) *perdure.Engine {
				t.Helper()
				opener := db
				if codecs != nil {
					opener = codec.Over(db, codecs...)
				}
				eng, err := perdure.Open(ctx, opener, append(options, perdure.Logger(slog.New(slog.DiscardHandler)))...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { eng.Close() })
				return eng
			}
			tokens := make(chan string, 1)
			outside := activity.New("outside", func(ctx context.Context, _ string) (string, error) {
				tokens <- activity.Token(ctx)
				return "", activity.ErrPending
			}, activity.Retry(retry.Policy{AttemptTimeout: time.Hour}))
			waits := workflow.New("waits", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, outside, in) })
			serves := opened([]codec.Codec{zip, aes}, perdure.Register(waits, outside))
			if err := serves.Start(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := perdure.Start(ctx, serves, waits, "waits-1", "in"); err != nil {
				t.Fatal(err)
			}
			token := <-tokens

			signal := workflow.NewSignal[string]("approve")
			for missing, codecs := range map[string][]codec.Codec{aes.Name() + "," + zip.Name(): nil, aes.Name(): {zip}} {
				e := opened(codecs)
				h := e.Workflow("waits-1")
				for verb, err := range map[string]error{
					"start":    func() error { _, err := perdure.Start(ctx, e, waits, "waits-2", "in"); return err }(),
					"schedule": perdure.Schedule(ctx, e, "nightly", waits, "in", schedule.Spec{Every: time.Hour}),
					"signal":   signal.Send(ctx, h, "yes"),
					"update":   func() error { _, err := h.Update(ctx, "raise", "x"); return err }(),
					"query":    func() error { _, err := h.Query(ctx, "stand", "x"); return err }(),
					"complete": e.Complete(ctx, token, "x"),
					"fail":     e.FailAttempt(ctx, token, errors.New("secret")),
					"beat":     e.HeartbeatAttempt(ctx, token, "x"),
					"skip":     func() error { _, err := ops.Control(ctx, e, "waits-1", view.CallFilter{}, ops.Skip("x")); return err }(),
					"fail now": func() error {
						_, err := ops.Control(ctx, e, "waits-1", view.CallFilter{}, ops.FailNow(errors.New("secret")))
						return err
					}(),
					"reset": func() error { _, err := ops.ControlRun(ctx, e, "waits-1", ops.ResetRun(1)); return err }(),
					"fork": func() error {
						_, err := ops.Fork(ctx, e, ops.ForkSpec{WorkflowID: "waits-1", Call: 1, NewID: "waits-3"})
						return err
					}(),
					"worker": opened(codecs, perdure.Register(outside), perdure.ServeQueue("gpu", 1)).Start(ctx),
				} {
					refusal, is := errors.AsType[*store.CodecError](err)
					if !is || strings.Join(refusal.Missing, ",") != missing || !strings.Contains(err.Error(), "codec.Over") {
						t.Errorf("%s without %s: %v", verb, missing, err)
					}
				}
				if runs, err := e.List(ctx, view.Filter{}); err != nil || len(runs) != 1 {
					t.Errorf("the list has %v, %v", runs, err)
				}
				if d, err := h.Describe(ctx); err != nil || len(d.Pending) != 1 || d.Damage == nil || !d.Damage.Coded {
					t.Errorf("who looks finds %+v, %v", d, err)
				}
				if _, err := ops.Control(ctx, e, "waits-1", view.CallFilter{}, ops.Pause(), ops.Why("without codecs")); err != nil {
					t.Errorf("pause: %v", err)
				}
			}
			if err := opened(nil).Workflow("waits-1").Cancel(ctx, "lunch"); err != nil {
				t.Errorf("cancel: %v", err)
			}
			full := opened([]codec.Codec{zip, aes}, perdure.Register(outside), perdure.ServeQueue("gpu", 1))
			if err := full.Start(ctx); err != nil {
				t.Errorf("a worker with the codecs: %v", err)
			}
			if _, err := perdure.Start(ctx, opened([]codec.Codec{codec.Reading(zip), codec.Reading(aes)}), waits, "waits-4", "in"); err != nil {
				t.Errorf("a starter with codecs that read: %v", err)
			}
		})
	}
}
