package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry"
	"github.com/perdure/perdure/workflow"
)

// scraped reads a page as its lines by series.
func scraped(t *testing.T, h http.Handler) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the scrape is answered with %d", w.Code)
	}
	series := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if at := strings.LastIndexByte(line, ' '); !strings.HasPrefix(line, "#") && at > 0 {
			series[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return series
}

// expect compares some series, of which an empty value stands for absent.
func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for series, value := range want {
		if got[series] != value {
			t.Errorf("%s is %q, want %q", series, got[series], value)
		}
	}
	if t.Failed() {
		for series, value := range got {
			t.Log(series, value)
		}
	}
}

func open(t *testing.T, db store.Opener, options ...perdure.Option) *perdure.Engine {
	t.Helper()
	e, err := perdure.Open(t.Context(), db, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

var steady = retry.Policy{MaxAttempts: 3, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}

// TestE63_WhatIsCounted: attempts, retries by type of error, calls that gave up, runs and
// turns are counted by what is durable, and what waits is read from the database, by a
// process that only looks too.
func TestE63_WhatIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		charge := activity.New("charge", func(ctx context.Context, fails int) (int, error) {
			if info, _ := activity.FromContext(ctx); info.Attempt <= fails {
				return 0, &store.InUseError{}
			}
			return fails, nil
		}, activity.Retry(steady))
		held := gate.New("till", 1)
		guarded := activity.New("guarded", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}, activity.Through(held), activity.Retry(steady))
		pay := workflow.New("pay", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, charge, n) })
		wait := workflow.New("wait", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, guarded, n) })
		metrics, db := telemetry.New(), memory.New()
		eng := open(t, db, metrics.Engine(), perdure.Register(charge, guarded, pay, wait))
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for n := range 4 { // succeeds, twice recovers, gives up
			_, err := perdure.Run(t.Context(), eng, pay, fmt.Sprint("pay-", n), n)
			if exhausted := (*retry.ExhaustedError)(nil); errors.As(err, &exhausted) != (n == 3) {
				t.Fatal(n, err)
			}
		}
		for n := range 3 {
			if _, err := perdure.Start(t.Context(), eng, wait, fmt.Sprint("wait-", n), 0); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		time.Sleep(time.Minute)
		kind := retry.TypeName(&store.InUseError{})
		expect(t, scraped(t, metrics.Handler(eng)), map[string]string{
			`perdure_calls_total{activity="charge",outcome="first_try"}`:                                  "1",
			`perdure_calls_total{activity="charge",outcome="recovered"}`:                                  "2",
			`perdure_calls_total{activity="charge",outcome="exhausted"}`:                                  "1",
			`perdure_attempts_failed_total{activity="charge",outcome="failed",error_type="` + kind + `"}`: "6",
			`perdure_retries_total{activity="charge",error_type="` + kind + `"}`:                          "5",
			`perdure_backoff_seconds_total{activity="charge"}`:                                            "300",
			`perdure_runs_ended_total{workflow="pay",status="completed"}`:                                 "3",
			`perdure_runs_ended_total{workflow="pay",status="failed"}`:                                    "1",
			`perdure_runs_started_total{workflow="wait"}`:                                                 "3",
			`perdure_lateness_seconds_count`:                                                              "5",
			`perdure_attempts_running`:                                                                    "1",
			`perdure_database_away`:                                                                       "0",
			`perdure_live`:                                                                                "1",
			`perdure_runs{status="running"}`:                                                              "3",
			`perdure_runs{status="failed"}`:                                                               "1",
			`perdure_calls{state="gated"}`:                                                                "2",
			`perdure_waiting{for="gate",activity="",gate="till",queue=""}`:                                "2",
			`perdure_waiting_oldest_seconds{for="gate",activity="",gate="till",queue=""}`:                 "60",
			`perdure_served`:              "1",
			`perdure_attention`:           "0",
			`perdure_status_failed`:       "0",
			`perdure_nodes{state="live"}`: "1",
		})
		looks := open(t, db)
		expect(t, scraped(t, telemetry.New().Handler(looks)), map[string]string{
			`perdure_runs{status="running"}`:                               "3",
			`perdure_waiting{for="gate",activity="",gate="till",queue=""}`: "2",
			`perdure_partitions`:                                           "0",
			`perdure_calls_total{activity="charge",outcome="failed"}`:      "",
		})
	})
}

// TestE63_ScrapesAreShared: the database is read once for all scrapes within Every, and a
// scrape of an engine that cannot be read is answered, says so, and tells what was last.
func TestE63_ScrapesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := open(t, memory.New())
		h := telemetry.New().Handler(eng)
		expect(t, scraped(t, h), map[string]string{`perdure_status_age_seconds`: "0", `perdure_status_failed`: "0"})
		time.Sleep(telemetry.Every - time.Second)
		expect(t, scraped(t, h), map[string]string{`perdure_status_age_seconds`: "14"})
		time.Sleep(time.Second)
		expect(t, scraped(t, h), map[string]string{`perdure_status_age_seconds`: "0"})
		if err := eng.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(telemetry.Every)
		expect(t, scraped(t, h), map[string]string{
			`perdure_status_age_seconds`: "15", `perdure_status_failed`: "1", `perdure_live`: "0", `perdure_runs{status="running"}`: "0",
		})
	})
}

// TestE63_LabelsAreBounded: types of errors are anybody's; beyond a number they count
// together, and no text breaks the format.
func TestE63_LabelsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := activity.New("work", func(_ context.Context, n int) (int, error) { return 0, manyTypes(n) }, activity.Retry(retry.Policy{MaxAttempts: 1}))
		many := workflow.New("many", func(wf *workflow.Context, n int) (int, error) {
			for i := range n {
				_, _ = workflow.Call(wf, work, i)
			}
			return n, nil
		})
		metrics := telemetry.New()
		eng := open(t, memory.New(), metrics.Engine(), perdure.Register(work, many))
		if err := eng.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Run(t.Context(), eng, many, "m", 120); err != nil {
			t.Fatal(err)
		}
		got := scraped(t, metrics.Handler(eng))
		n := 0
		for series := range got {
			if strings.HasPrefix(series, "perdure_attempts_failed_total{") {
				n++
			}
		}
		if n != 51 {
			t.Errorf("%d series of types of errors, want 50 and one for all others", n)
		}
		expect(t, got, map[string]string{`perdure_attempts_failed_total{activity="work",outcome="failed",error_type="other"}`: "70"})
	})
}

// manyTypes is an error of as many types as there are numbers.
type manyTypes int

func (e manyTypes) Error() string     { return "error" }
func (e manyTypes) ErrorType() string { return fmt.Sprintf("T%d\"\n\\", int(e)) }
