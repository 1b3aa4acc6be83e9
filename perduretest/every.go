package perduretest

import (
	"fmt"
	"testing"
)

// maxWrites is more than any scenario should make.
const maxWrites = 1000

// EveryWrite runs f with the fault at the first write to the database, then at the
// second, and so on, until f makes fewer writes than that. So it covers every write,
// including those that the fault itself causes. Each run is a subtest, named write=1,
// write=2 ..., with an environment of its own.
//
//	go test -run 'TestCheckoutSurvives/^write=7$'
func EveryWrite(t *testing.T, fault Fault, f func(t *testing.T, env *Env), options ...Option) {
	t.Helper()
	for write := 1; write <= maxWrites; write++ {
		ran, met := false, true // -run may leave this subtest out
		t.Run(fmt.Sprintf("write=%d", write), func(t *testing.T) {
			var env *Env
			ran = true
			// Deferred, because a test that failed does not come back.
			defer func() { met = env != nil && env.Writes() >= write }()
			Test(t, func(t *testing.T, e *Env) {
				env = e
				env.At(write, fault)
				f(t, env)
			}, options...)
		})
		if !met {
			return
		}
		if ran && write == maxWrites {
			t.Errorf("EveryWrite looked at %d writes and the scenario still makes more.", maxWrites)
		}
	}
}
