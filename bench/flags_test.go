package main

import (
	"io"
	"testing"

	"github.com/perdure/perdure/bench/internal/workload"
)

// Each system can be asked for by its name, which may have spaces, alone and beside others.
func TestEverySystemCanBeNamed(t *testing.T) {
	for _, p := range plans(workload.Tiny, 0, 0) {
		for _, s := range p.systems {
			for _, list := range []string{s.Name(), "another one, " + s.Name()} {
				o, err := parse([]string{"-system", list}, io.Discard)
				if err != nil || !takes(o.systems, s.Name()) {
					t.Errorf("-system %q takes %q, %v", list, o.systems, err)
				}
			}
		}
	}
}
