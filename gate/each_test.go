package gate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
)

func TestR42_ALoopHoldsASlotPerValue(t *testing.T) {
	g := gate.New("one", 1)
	source := func(yield func(int) bool) {
		for i := range 3 {
			if g.Stats().Holders != 1 {
				t.Error("the source is asked without a slot")
			}
			if !yield(i) {
				return
			}
		}
	}
	var got []int
	for v, err := range gate.Each(t.Context(), g, source) {
		if err != nil || g.Stats().Holders != 1 {
			t.Errorf("%v, %+v", err, g.Stats())
		}
		got = append(got, v)
	}
	if !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("got %v", got)
	}
	deserted(t, g)

	for range gate.Each(t.Context(), g, source) {
		break
	}
	deserted(t, g)
	for _, inSource := range []bool{true, false} {
		func() {
			defer func() { _ = recover() }()
			for range gate.Each(t.Context(), g, func(yield func(int) bool) {
				if inSource {
					panic("source")
				}
				yield(1)
			}) {
				panic("loop")
			}
		}()
		deserted(t, g)
	}
}

func TestR33_ALoopThatIsCanceledEndsWithTheError(t *testing.T) {
	g := gate.New("one", 1)
	ctx, cancel := context.WithCancel(t.Context())
	var log []string
	for v, err := range gate.Each(ctx, g, slices.Values([]int{1, 2, 3})) {
		var aborted *retry.AbortedError
		log = append(log, fmt.Sprint(v, errors.As(err, &aborted)))
		if v == 2 {
			cancel()
		}
	}
	cancel()
	if want := []string{"1 false", "2 false", "0 true"}; !slices.Equal(log, want) {
		t.Errorf("got %v", log)
	}
	deserted(t, g)
	for _, err := range gate.Each(ctx, gate.New("bad", 0), slices.Values([]int{1})) {
		var config *retry.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("got %v", err)
		}
	}
}
