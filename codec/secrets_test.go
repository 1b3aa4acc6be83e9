package codec_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// secret is a text that must not be found anywhere. Each is planted in one place, by which it
// is called.
func secret(place string) string { return "planted-" + place + "-7q9x" }

// places are where users say something, each with a secret of its own.
var places = []string{
	"input", "memo", "updateIn", "updateOut", "sideEffect", "step", "heartbeat", "error", "errorData", "result", "terminal", "panic",
	"status", "childIn", "childOut", "signal", "unread", "continued", "external", "externalHeartbeat", "final", "runError", "skipped", "failedNow",
	"why", "whyActivity", "whyGate", "whyRun", "schedule", "scheduleMemo", "detached", "sent", "signalLater", "queued", "cancel",
}

// valuable is an error with data, of a registered type.
type valuable struct{ Card string }

func (e *valuable) Error() string { return "declined " + secret("error") }

func init() { retry.RegisterErrorType[*valuable]("codec_test.Valuable") }

type vault struct {
	tokens chan string
	defs   []perdure.Definition
	main   workflow.Workflow[string, string]
	closed workflow.Workflow[string, string]
	stays  workflow.Workflow[string, string]
	child  workflow.Workflow[string, string]
	paused chan struct{}
}

var (
	look   = workflow.NewQuery[string, string]("look")
	change = workflow.NewUpdate[string, string]("change")
	tell   = workflow.NewSignal[string]("tell")
	later  = workflow.NewSignal[string]("later")
)

// newVault is workflows that have a secret wherever there may be one.
func newVault() *vault {
	v := &vault{tokens: make(chan string, 1), paused: make(chan struct{}, 1)}
	quick := retry.Policy{MaxAttempts: 2, Backoff: retry.None}
	flaky := activity.New("flaky", func(ctx context.Context, in string) (string, error) {
		if err := activity.Heartbeat(ctx, secret("heartbeat")); err != nil {
			return "", err
		}
		if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
			return "", &valuable{secret("errorData")}
		}
		return secret("result"), nil
	}, activity.Retry(quick), activity.Through(gate.New("bank", 1)))
	fatal := activity.New("fatal", func(_ context.Context, how string) (string, error) {
		if how == "panic" {
			panic(secret("panic"))
		}
		return "", retry.Terminal(errors.New(secret("terminal")))
	}, activity.Retry(retry.Policy{MaxAttempts: 1}))
	outside := activity.New("outside", func(ctx context.Context, _ string) (string, error) {
		v.tokens <- activity.Token(ctx)
		return "", activity.ErrPending
	}, activity.Retry(retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Hour}))
	waits := activity.New("waits", func(context.Context, string) (string, error) { return "", errors.New("by hand") },
		activity.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}))
	off := activity.New("off", func(_ context.Context, in string) (string, error) { return in, nil })
	v.child = workflow.New("child", func(wf *workflow.Context, in string) (string, error) { return secret("childOut"), nil })
	stuck := activity.New("stuck", func(ctx context.Context, _ string) (string, error) {
		return "", errors.Join(activity.Heartbeat(ctx, secret("heartbeat")), &valuable{secret("errorData")})
	}, activity.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}))
	v.stays = workflow.New("stays", func(wf *workflow.Context, _ string) (string, error) {
		open := workflow.Async(wf, outside, "")
		_, err := workflow.Call(wf, stuck, "")
		_, late := open.Get(wf)
		return "", errors.Join(err, late)
	})
	v.closed = workflow.New("failing", func(wf *workflow.Context, in string) (string, error) {
		if in == "" {
			return workflow.Call(wf, off, secret("queued"))
		}
		return "", errors.New(secret("runError"))
	})
	v.main = workflow.Declare[string, string]("vault")
	body := func(wf *workflow.Context, in string) (string, error) {
		workflow.HandleQuery(wf, look, func(in string) (string, error) { return in, nil })
		workflow.HandleUpdate(wf, change, func(_ *workflow.Context, in string) (string, error) { return secret("updateOut"), nil })
		if in == secret("continued") {
			if _, err := workflow.Call(wf, outside, ""); err != nil {
				return "", err
			}
			return secret("final"), nil
		}
		workflow.SetStatus(wf, secret("status"))
		workflow.SideEffect(wf, "side", func() string { return secret("sideEffect") })
		if _, err := workflow.Do(wf, "step", func(context.Context) (string, error) { return secret("step"), nil }); err != nil {
			return "", err
		}
		if _, err := workflow.Call(wf, flaky, ""); err != nil {
			return "", err
		}
		for _, how := range []string{"panic", "error"} {
			if _, err := workflow.Call(wf, fatal, how); err == nil {
				return "", errors.New("it must fail")
			}
		}
		if _, err := workflow.RunChild(wf, v.child, secret("childIn")); err != nil {
			return "", err
		}
		if _, err := workflow.StartDetached(wf, v.child, secret("detached")); err != nil {
			return "", err
		}
		if err := workflow.Send(wf, "other", tell, secret("sent")); err != nil {
			return "", err
		}
		for range 2 { // skipped, and failed now
			_, _ = workflow.Call(wf, waits, "")
		}
		if _, err := workflow.Receive(wf, tell); err != nil {
			return "", err
		}
		return workflow.ContinueAsNew(wf, v.main, secret("continued"))
	}
	other := workflow.New("other", func(wf *workflow.Context, in string) (string, error) {
		_, err := workflow.Receive(wf, tell)
		return "", errors.Join(err, workflow.Sleep(wf, time.Hour))
	})
	v.defs = []perdure.Definition{flaky, fatal, outside, waits, off, stuck, v.child, v.closed, v.stays, v.main.Impl(body), other}
	return v
}

// plant runs the workflows, from an engine that serves and from a client.
func (v *vault) plant(t *testing.T, open func() store.Opener, log *slog.Logger, last func()) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	eng, err := perdure.Open(ctx, open(), perdure.Register(v.defs...), perdure.Logger(log), perdure.OnPaused(func(view.PausedCall) { v.paused <- struct{}{} }))
	must(err)
	defer func() { must(eng.Close()) }()
	must(eng.Start(ctx))
	client, err := perdure.Open(ctx, open(), perdure.Logger(log))
	must(err)
	defer func() { last(); must(client.Close()) }()

	must(perdure.Schedule(ctx, eng, "nightly", v.child, secret("schedule"), schedule.Spec{Every: 24 * time.Hour}, workflow.Memo(secret("scheduleMemo"))))
	must(ops.PauseSchedule(ctx, eng, "nightly", ops.Why(secret("why"))))
	_, err = ops.PauseActivity(ctx, client, "off", ops.Why(secret("whyActivity")))
	must(err)
	_, err = perdure.Start(ctx, client, workflow.Declare[string, string]("other"), "other", "")
	must(err)
	_, err = perdure.Start(ctx, client, v.closed, "waits", "")
	must(err)
	main, err := perdure.Start(ctx, client, v.main, "v", secret("input"), workflow.Memo(secret("memo")))
	must(err)
	<-v.paused
	control := func(op ops.Operation) {
		t.Helper()
		records, err := ops.Control(ctx, client, "v", view.CallFilter{States: []string{view.CallPaused}}, op, ops.Why(secret("whyRun")))
		if err != nil || len(records) != 1 || records[0].Outcome != view.Applied {
			t.Fatal(records, err)
		}
	}
	control(ops.Skip(secret("skipped")))
	<-v.paused
	_, err = change.Call(ctx, client.Workflow("v"), secret("updateIn"))
	must(err)
	answer, err := look.Ask(ctx, client.Workflow("v"), "how")
	if must(err); answer != "how" {
		t.Fatal(answer)
	}
	must(later.Send(ctx, client.Workflow("v"), secret("unread")))
	must(tell.Send(ctx, client.Workflow("v"), secret("signal")))
	control(ops.FailNow(errors.New(secret("failedNow"))))
	token := <-v.tokens
	must(later.Send(ctx, client.Workflow("v"), secret("signalLater")))
	must(client.HeartbeatAttempt(ctx, token, secret("externalHeartbeat")))
	must(client.Complete(ctx, token, secret("external")))
	if out, err := main.Result(ctx); err != nil || out != secret("final") {
		t.Fatal(out, err)
	}
	if _, err := perdure.Run(ctx, eng, v.closed, "failing", "now"); err == nil || !strings.Contains(err.Error(), secret("runError")) {
		t.Fatal(err)
	}
	_, err = perdure.Start(ctx, client, v.stays, "stays", "")
	must(err)
	<-v.paused
	must(eng.HeartbeatAttempt(ctx, <-v.tokens, secret("externalHeartbeat")))
	must(ops.PauseGate(ctx, eng, "bank", ops.Why(secret("whyGate"))))
	must(client.Workflow("other").Cancel(ctx, secret("cancel")))
	if _, err := client.Workflow("other").Result(ctx); err == nil {
		t.Fatal("it was canceled")
	}
}

// traces are how a secret may look in a file or a table.
func traces(s string) [][]byte {
	all := [][]byte{[]byte(s), []byte(hex.EncodeToString([]byte(s)))}
	for skip := range 3 { // as a part of base64
		text := base64.StdEncoding.EncodeToString([]byte(s)[skip:])
		all = append(all, []byte(text[:len(text)-5]))
	}
	return all
}

// found are the places whose secrets are in some bytes.
func found(in []byte) (where []string) {
	for _, place := range places {
		if slices.ContainsFunc(traces(secret(place)), func(s []byte) bool { return bytes.Contains(in, s) }) {
			where = append(where, place)
		}
	}
	return where
}

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// TestE65_E114_NoSecretInTheDatabase plants secrets wherever users say something and looks
// for them in the files of the database, its log included, in the rows of all tables, and in
// the engine's log at its most talkative. Without codecs it finds them all: it looks in the
// right places.
func TestE65_E114_NoSecretInTheDatabase(t *testing.T) {
	backends := map[string]func(t *testing.T) (open func() store.Opener, raw func() []byte){
		"sqlite": func(t *testing.T) (func() store.Opener, func() []byte) {
			path := filepath.Join(t.TempDir(), "shop.db")
			return func() store.Opener { return sqlite.File(path) }, func() []byte { return files(t, filepath.Dir(path)) }
		},
		"postgres": func(t *testing.T) (func() store.Opener, func() []byte) {
			dsn := pgtest.Database(t)
			return func() store.Opener { return postgres.URL(dsn) }, func() []byte { return rows(t, dsn) }
		},
	}
	for name, backend := range backends {
		t.Run(name, func(t *testing.T) {
			for _, with := range []bool{true, false} {
				t.Run(fmt.Sprintf("codecs=%v", with), func(t *testing.T) {
					open, raw := backend(t)
					coded, where := open, blobs(t)
					if with {
						coded = func() store.Opener {
							return codec.Over(open(), codec.Compress(300), keys(t, "2026-11"), codec.Offload(900, where))
						}
					}
					var log buffer
					var stored []byte // before the database is closed, too: its log has what was written over
					newVault().plant(t, coded, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), func() { stored = raw() })
					stored = append(append(stored, raw()...), files(t, fmt.Sprint(where))...)
					switch left := found(stored); {
					case with && left != nil:
						t.Errorf("the database has the secrets of %q", left)
					case !with && len(left) < len(places):
						t.Errorf("without codecs the database has the secrets of %q only: the test looks in the wrong place", left)
					}
					switch said := found(log.b.Bytes()); {
					case with && said != nil:
						t.Errorf("the log has the secrets of %q:\n%s", said, log.b.Bytes())
					case !with && !slices.Contains(said, "terminal"):
						t.Errorf("without codecs the log has the secrets of %q only", said)
					}
				})
			}
		})
	}
}

// files are the bytes of all files in a directory.
func files(t *testing.T, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rows are all rows of all tables as text.
func rows(t *testing.T, dsn string) (all []byte) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	names, err := conn.Query(ctx, "SELECT tablename FROM pg_tables WHERE schemaname = 'perdure'")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(names, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		found, err := conn.Query(ctx, "SELECT t::text FROM perdure."+table+" t")
		if err != nil {
			t.Fatal(err)
		}
		text, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(text, "\n")...)
	}
	return all
}
