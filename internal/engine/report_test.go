package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// journal keeps log records as JSON.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

// records returns those that have a value under a key.
func (j *journal) records(t *testing.T, key, value string) (all []map[string]any) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range bytes.Lines(j.b.Bytes()) {
		r := map[string]any{}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r[key] == value {
			all = append(all, r)
		}
	}
	return all
}

// TestE63_WhatFailsIsLogged: failed attempts, calls that gave up or wait for a person,
// failed runs, breakers, recoveries and the life of the engine are events, with the IDs
// that an operator types; code of users logs with the same keys, and not in a replay.
func TestE63_WhatFailsIsLogged(t *testing.T) {
	bank := gate.New("bank", 5, gate.WithBreaker(gate.Breaker{Failures: 2, Cooldown: time.Hour, Wait: true}))
	charge := activity.New("charge", func(ctx context.Context, in string) (string, error) {
		activity.Logger(ctx).Info("charging", "cents", 100)
		return "", errors.New("connection refused")
	}, activity.Retry(retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}))
	debit := activity.New("debit", func(context.Context, string) (string, error) { return "", errors.New("bank away") },
		activity.Retry(retry.Policy{MaxAttempts: 9, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter}), activity.Through(bank))
	render := activity.New("render", func(context.Context, string) (string, error) { return "", errors.New("font overflow") },
		activity.Retry(retry.Policy{MaxAttempts: 1, OnExhausted: retry.Pause}))
	order := workflow.New("order", func(wf *workflow.Context, in string) (string, error) {
		log := workflow.Logger(wf)
		log.Info("before the sleep", "in", in)
		if err := workflow.Sleep(wf, time.Hour); err != nil {
			return "", err
		}
		log.Info("after the sleep")
		return workflow.Call(wf, charge, in)
	}, workflow.Version("1"))
	pays := workflow.New("pays", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, debit, in) }, workflow.Version("1"))
	renders := workflow.New("renders", func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, render, in) }, workflow.Version("1"))
	inBothModes(t, func(t *testing.T, w *world) {
		j := &journal{}
		c := w.config(order, pays, renders, charge, debit, render)
		c.Logger = slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.MaxResident = -1 // each wake replays
		e := w.startWith(c)
		begin(t, e, order, "order-1", "a")
		begin(t, e, renders, "renders-1", "a")
		for i := range 2 {
			begin(t, e, pays, fmt.Sprint("pays-", i), "a")
		}
		pass(2 * time.Hour)
		stop(t, e)
		for _, want := range []struct {
			event string
			n     int
			with  map[string]any
		}{
			{"engine_started", 1, map[string]any{"node": "node"}},
			{"engine_stopped", 1, nil},
			{"call_gave_up", 1, map[string]any{"workflow_id": "order-1", "workflow": "order", "activity": "charge", "attempt": 4.0, "reason": "max_attempts", "error": "connection refused", "level": "WARN"}},
			{"call_retries", 6, map[string]any{"attempt": 1.0, "reason": "backoff", "level": "INFO"}}, // the first and the second time of three calls
			{"run_failed", 1, map[string]any{"workflow_id": "order-1", "error": "charge: gave up after 4 attempts (max attempts): connection refused"}},
			{"call_paused", 1, map[string]any{"workflow_id": "renders-1", "activity": "render", "reason": "max_attempts", "error": "font overflow"}},
		} {
			got := j.records(t, "event", want.event)
			if len(got) != want.n {
				t.Errorf("%s: %d records", want.event, len(got))
				continue
			}
			for key, value := range want.with {
				if got[0][key] != value {
					t.Errorf("%s: %s is %v, want %v", want.event, key, got[0][key], value)
				}
			}
		}
		if opened := j.records(t, "event", "breaker_opened"); len(opened) == 0 || opened[0]["gate"] != "bank" {
			t.Errorf("the breaker opened: %v", opened)
		}
		for _, r := range j.records(t, "event", "breaker_opened") {
			if r["failures"] != 2.0 { // also when a probe fails
				t.Errorf("a breaker that opens after 2 failures opened: %v", r)
			}
		}
		if failed := j.records(t, "event", "attempt_failed"); len(failed) == 0 || failed[0]["level"] != "DEBUG" {
			t.Errorf("attempts that are retried: %v", failed)
		}
		for _, message := range []string{"before the sleep", "after the sleep"} {
			if said := j.records(t, "msg", message); len(said) != 1 || said[0]["workflow_id"] != "order-1" || said[0]["run_id"] == nil {
				t.Errorf("the code said %v", said)
			}
		}
		if said := j.records(t, "msg", "charging"); len(said) != 4 || said[1]["attempt"] != 2.0 || said[1]["call"] != "2" || said[1]["workflow_id"] != "order-1" {
			t.Errorf("the body said %v", said)
		}
	})
}
