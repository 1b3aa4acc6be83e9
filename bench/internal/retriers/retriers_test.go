package retriers

import (
	"context"
	"errors"
	"testing"
)

// sink keeps the compiler from removing what is measured.
var sink error

var errOnce = errors.New("once")

func succeed(context.Context) error { return nil }

// BenchmarkSuccess: the first attempt succeeds.
func BenchmarkSuccess(b *testing.B) {
	for _, p := range Peers() {
		b.Run(p.Name, func(b *testing.B) {
			call := p.Backoff(b.Context(), succeed)
			b.ReportAllocs()
			for b.Loop() {
				sink = call()
			}
		})
	}
}

// BenchmarkFailOnce: the first attempt fails, the second one succeeds.
func BenchmarkFailOnce(b *testing.B) {
	for _, p := range Peers() {
		if p.Immediate == nil {
			continue
		}
		b.Run(p.Name, func(b *testing.B) {
			failed := false
			call := p.Immediate(b.Context(), func(context.Context) error {
				if failed = !failed; failed {
					return errOnce
				}
				return nil
			})
			b.ReportAllocs()
			for b.Loop() {
				sink = call()
			}
			if sink != nil {
				b.Fatal(sink)
			}
		})
	}
}

// TestAllDoTheSame: five attempts, no more, and the second one if one is enough.
func TestAllDoTheSame(t *testing.T) {
	for _, p := range Peers() {
		if p.Immediate == nil {
			continue
		}
		for failures, want := range map[int]int{0: 1, 1: 2, 4: 5, 99: attempts} {
			made := 0
			err := p.Immediate(t.Context(), func(context.Context) error {
				if made++; made <= failures {
					return errOnce
				}
				return nil
			})()
			if made != want || (err == nil) != (failures < attempts) {
				t.Errorf("%s makes %d attempts when %d fail, and returns %v", p.Name, made, failures, err)
			}
			if err := p.Backoff(t.Context(), succeed)(); err != nil {
				t.Errorf("%s: %v", p.Name, err)
			}
		}
	}
}
