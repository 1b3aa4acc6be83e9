package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/access"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

// hostile is what a page may have to show in any field: markup, quotes, control
// characters, a turned direction of writing.
const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;{{.}} ` + "\u202eevil\u202c \x1b[31mred\u0000\u0007 \u2028"

// hostileID is the worst that a workflow ID may be.
const hostileID = `<script>alert(3)</script>"'&amp;../?a=b#c%2F{{.}} \ ` + "\u202eevil"

// declined is an error with a type of its own.
type declined struct{ Reason string }

func (d *declined) Error() string { return "the card was declined: " + d.Reason }

func policyOf(text string) retry.Policy {
	p, err := retry.Parse(text)
	if err != nil {
		panic(err)
	}
	return p
}

var (
	bank    = gate.New("bank", 1)
	reserve = activity.New("reserve", func(ctx context.Context, o string) (string, error) { return "reserved " + o, nil })
	charge  = activity.New("charge", func(ctx context.Context, o string) (string, error) {
		info, _ := activity.FromContext(ctx)
		switch {
		case strings.HasPrefix(o, "ok"), strings.HasPrefix(o, "slow") && info.Attempt == 4:
			return "paid", nil
		case strings.HasPrefix(o, "panic"):
			panic("the terminal is on fire")
		case strings.HasPrefix(o, "final"):
			return "", retry.Terminal(fmt.Errorf("charge %s: %w", o, &declined{"stolen"}))
		case strings.HasPrefix(o, "hostile"):
			return "", errors.New(hostile)
		}
		return "", fmt.Errorf("POST https://bank.example/charge: 503 Service Unavailable (attempt %d)", info.Attempt)
	}, activity.Retry(policyOf("[retry: 20, backoff: 30s, max: 10m, jitter: none]")))
	ship  = activity.New("ship", func(ctx context.Context, o string) (string, error) { return "", activity.ErrPending }, activity.Retry(policyOf("[timeout: 1d]")), activity.Through(bank))
	often = activity.New("often", func(ctx context.Context, o string) (string, error) { return "", errors.New("again") },
		activity.Retry(retry.Policy{MaxAttempts: 200, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
	checkout = workflow.New("checkout", func(wf *workflow.Context, o string) (string, error) {
		workflow.SetStatus(wf, "charging")
		if _, err := workflow.Call(wf, reserve, o); err != nil {
			return "", err
		}
		if _, err := workflow.Call(wf, charge, o); err != nil {
			return "", err
		}
		return "done " + o, nil
	})
	deliver = workflow.New("deliver", func(wf *workflow.Context, o string) (string, error) {
		if err := workflow.Sleep(wf, time.Second); err != nil { // so that the child is younger
			return "", err
		}
		child := workflow.RunChildAsync(wf, checkout, "bad "+o)
		if _, err := workflow.Call(wf, ship, o); err != nil {
			return "", err
		}
		return child.Get(wf)
	})
)

// made is the database that the tests look at. It is made in virtual time that ends now, so
// what is in it has its ages, and no engine serves it unless a test starts one.
func made(t *testing.T) string {
	t.Helper()
	now, file := time.Now(), filepath.Join(t.TempDir(), "shop.db")
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(-3 * time.Hour)))
		ctx := t.Context()
		eng, err := perdure.Open(ctx, sqlite.File(file, sqlite.Exclusive()), perdure.Register(checkout, deliver, reserve, charge, ship, often),
			perdure.NodeName("shop-1"), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = eng.Start(ctx)
		}
		must(t, err)
		defer eng.Close()
		start := func(w workflow.Workflow[string, string], id, in string) {
			_, err := perdure.Start(ctx, eng, w, id, in)
			must(t, err)
			time.Sleep(time.Second) // so that each has an age of its own
		}
		for i := range 4 {
			start(checkout, fmt.Sprintf("ok-%d", i), "ok")
		}
		start(checkout, "slow-1", "slow")
		time.Sleep(140 * time.Minute)
		start(checkout, "final-1", "final")
		start(checkout, "panic-1", "panic")
		start(checkout, "bad-1", "bad")
		start(checkout, "bad-2", "bad")
		start(checkout, "held-1", "bad")
		start(checkout, hostileID, "hostile "+hostile)
		start(deliver, "deliver-1", "first")
		time.Sleep(time.Minute)
		start(deliver, "deliver-2", "second")
		time.Sleep(30 * time.Minute)
		_, err = ops.ControlRun(ctx, eng, "held-1", ops.PauseRun(), ops.By("ann"), ops.Why("the bank called"))
		must(t, err)
		time.Sleep(time.Minute)
		must(t, eng.Close())
	})
	return file
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served is the dashboard of a database at an address, for an operator.
func served(t *testing.T, file string, options ...perdure.Option) (*httptest.Server, *perdure.Engine) {
	t.Helper()
	return servedBy(t, sqlite.File(file), options...)
}

// servedBy is the dashboard of a store.
func servedBy(t *testing.T, db store.Opener, options ...perdure.Option) (*httptest.Server, *perdure.Engine) {
	t.Helper()
	eng, err := perdure.Open(t.Context(), db, append(options, perdure.Logger(slog.New(slog.DiscardHandler)))...)
	must(t, err)
	t.Cleanup(func() { eng.Close() })
	mux := http.NewServeMux()
	pages, err := Handler(eng, access.Rules{Anonymous: access.Identity{Name: "ann", Role: access.Operator}})
	must(t, err)
	mux.Handle("/shop/", http.StripPrefix("/shop", pages))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv, eng
}
