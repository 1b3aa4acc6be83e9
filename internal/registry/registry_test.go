package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/registry"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var errCardDeclined = errors.New("the card was declined")

func init() { retry.RegisterError("CardDeclinedHere", errCardDeclined) }

type purchase struct {
	ID     string
	amount int
}

// warned returns, sorted, the values of some keys in the records of an event that a registry warns of.
func warned(t *testing.T, c registry.Config, event string, keys ...string) (all []string) {
	t.Helper()
	r, err := registry.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	log := logs.New(slog.New(slog.NewJSONHandler(&b, nil)), false)
	r.Warn(log, &retry.Policy{})
	log.Close()
	for line := range bytes.Lines(b.Bytes()) {
		record := map[string]any{}
		if err := json.Unmarshal(line, &record); err != nil {
			t.Fatal(err)
		}
		if record["event"] != event {
			continue
		}
		var said []string
		for _, k := range keys {
			said = append(said, fmt.Sprint(record[k]))
		}
		all = append(all, strings.Join(said, " "))
	}
	slices.Sort(all)
	return all
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

// TestE11_WhatATypeLosesIsSaidAtTheStart: fields that JSON leaves out are named in the log, and
// a type that it cannot read is refused.
func TestE11_WhatATypeLosesIsSaidAtTheStart(t *testing.T) {
	buy := workflow.New("buy", func(_ *workflow.Context, p purchase) (int, error) { return p.amount, nil })
	pay := activity.New("pay", func(_ context.Context, n int) (map[string]*purchase, error) { return nil, nil })
	said := warned(t, registry.Config{Workflows: []seal.Workflow{buy}, Activities: []seal.Activity{pay}}, "value_loses", "kind", "name", "of", "fields")
	if len(said) != 2 || !strings.HasPrefix(said[0], "activity pay result") || said[1] != "workflow buy input amount" {
		t.Errorf("the log says %q", said)
	}
	bad := activity.New("bad", func(context.Context, struct{ Done func() }) (int, error) { return 0, nil })
	_, err := registry.New(registry.Config{Activities: []seal.Activity{bad}})
	if want := `activity "bad": its input is a struct { Done func() }, of which the field Done is of type func(), which cannot be read from JSON`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestR24_AMisspeltErrorTypeIsNamed at the start, with what was meant; a name that only other
// code may know is left alone.
func TestR24_AMisspeltErrorTypeIsNamed(t *testing.T) {
	retry.RegisterError("Bank4xx", errors.New("the bank refuses it"))
	pay := activity.New("pay", func(context.Context, int) (int, error) { return 0, nil }, activity.Retry(retry.Policy{
		NonRetryable: []string{"CardDeclindHere", "CardDeclinedHere", "OfAnotherProcess", "Timeout2", "Bank429", "Bnak4xx", "Time0ut"}, Rules: []retry.Rule{{Types: []string{"Timout"}, Stop: true}},
	}))
	said := warned(t, registry.Config{Activities: []seal.Activity{pay}}, "error_type_unknown", "error_type", "near")
	same(t, "said", strings.Join(said, ", "), "Bnak4xx Bank4xx, CardDeclindHere CardDeclinedHere, Time0ut Timeout, Timout Timeout")
}

// TestE118_AProgramThatDoesNotKnowItsBuild refuses pinned workflows.
func TestE118_AProgramThatDoesNotKnowItsBuild(t *testing.T) {
	order := workflow.New("order", func(*workflow.Context, int) (int, error) { return 0, nil }, workflow.Pinned())
	for build, refused := range map[string]bool{"unknown": true, "v1.2.0-unknown": true, "v1.2.0": false} {
		_, err := registry.New(registry.Config{Workflows: []seal.Workflow{order}, Build: build})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "name it with perdure.Build") {
			t.Errorf("build %q: %v", build, err)
		}
	}
}

// TestE116_TheFingerprintOfCode is its version where it declares one, and the build of the program
// where it does not, or where a run is pinned.
func TestE116_TheFingerprintOfCode(t *testing.T) {
	code := func(*workflow.Context, int) (int, error) { return 0, nil }
	versioned, plain := workflow.New("versioned", code, workflow.Version("7")), workflow.New("plain", code)
	of := func(build string) *registry.Registry {
		r, err := registry.New(registry.Config{Workflows: []seal.Workflow{versioned, plain}, Build: build})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b := of("a"), of("b")
	for name, differs := range map[string]bool{"versioned": false, "plain": true} {
		if got := a.Fingerprint(a.Workflow(name), "") != b.Fingerprint(b.Workflow(name), ""); got != differs {
			t.Errorf("%s: it differs between builds: %t", name, got)
		}
		if a.Fingerprint(a.Workflow(name), "a") == b.Fingerprint(b.Workflow(name), "b") {
			t.Errorf("%s, pinned: it is the same on two builds", name)
		}
	}
}

// TestE29_AResultFromOutsideFitsTheType that the activity returns; of one that is not registered
// here nothing is known.
func TestE29_AResultFromOutsideFitsTheType(t *testing.T) {
	r, err := registry.New(registry.Config{Activities: []seal.Activity{activity.New("count", func(context.Context, string) (int, error) { return 0, nil })}})
	if err != nil {
		t.Fatal(err)
	}
	word, err := history.Encode("three")
	if err != nil {
		t.Fatal(err)
	}
	number, err := history.Encode(3)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Fits("count", number), r.Fits("elsewhere", word)); err != nil {
		t.Error(err)
	}
	if err := r.Fits("count", word); err == nil || !strings.HasPrefix(err.Error(), `does not fit int, the type that activity "count" returns: `) {
		t.Errorf("got %v", err)
	}
}
