package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var errCardDeclined = errors.New("the card was declined")

func init() { retry.RegisterError("CardDeclinedHere", errCardDeclined) }

type purchase struct {
	ID     string
	amount int
}

// TestE11_WhatATypeLosesIsSaidAtTheStart: fields that JSON leaves out are named in the log, and
// a type that it cannot read is refused.
func TestE11_WhatATypeLosesIsSaidAtTheStart(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		buy := workflow.New("buy", func(_ *workflow.Context, p purchase) (int, error) { return p.amount, nil })
		pay := activity.New("pay", func(_ context.Context, n int) (map[string]*purchase, error) { return nil, nil })
		j := &journal{}
		c := w.config(buy, pay)
		c.Logger = slog.New(slog.NewJSONHandler(j, nil))
		w.startWith(c)
		said := j.records(t, "event", "value_loses")
		if len(said) != 2 || said[0]["name"] != "buy" || said[0]["of"] != "input" || said[0]["fields"] != "amount" || said[1]["kind"] != "activity" || said[1]["of"] != "result" {
			t.Errorf("the log says %v", said)
		}
		bad := activity.New("bad", func(context.Context, struct{ Done func() }) (int, error) { return 0, nil })
		_, err := engine.Open(t.Context(), w.config(bad))
		if want := `activity "bad": its input is a struct { Done func() }, of which the field Done is of type func(), which cannot be read from JSON`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// TestR24_AMisspeltErrorTypeIsNamed at the start, with what was meant; a name that only other
// code may know is left alone.
func TestR24_AMisspeltErrorTypeIsNamed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		pay := activity.New("pay", func(context.Context, int) (int, error) { return 0, nil }, activity.Retry(retry.Policy{
			NonRetryable: []string{"CardDeclindHere", "CardDeclinedHere", "OfAnotherProcess", "Timeout2"}, Rules: []retry.Rule{{Types: []string{"Timout"}, Stop: true}},
		}))
		j := &journal{}
		c := w.config(pay)
		c.Logger = slog.New(slog.NewJSONHandler(j, nil))
		w.startWith(c)
		var got []string
		for _, r := range j.records(t, "event", "error_type_unknown") {
			got = append(got, r["error_type"].(string)+" "+r["near"].(string))
		}
		same(t, "said", strings.Join(got, ", "), "CardDeclindHere CardDeclinedHere, Timout Timeout")
	})
}
