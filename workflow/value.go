package workflow

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// SideEffect runs fn once and records the value it returns; replays get that value. fn
// should be short and must not fail: for anything that can fail, use Do. If the process
// dies before the turn is durable, fn runs again. If the name or the value cannot be
// recorded, SideEffect panics, which parks the run: do not recover the panic.
func SideEffect[T any](wf *Context, name string, fn func() T) T {
	wf.enter()
	if err := history.CheckName("side effect name", name); err != nil {
		panic(err)
	}
	recorded, err := wf.instance.run.SideEffect(name, func() (history.Payload, error) {
		wf.instance.recording = true
		defer func() { wf.instance.recording = false }()
		return history.Encode(fn())
	})
	var v T
	if err == nil {
		err = recorded.Decode(&v)
	}
	if err != nil {
		panic(fmt.Errorf("side effect %q: %w", name, err))
	}
	return v
}

// Now returns the engine's time at the beginning of the current turn, in UTC. It does not
// change while the code runs, and replays see the same on any machine.
func Now(wf *Context) time.Time {
	wf.enter()
	return time.Unix(0, wf.instance.run.Now()).UTC()
}

// Rand returns the run's source of random numbers. It is seeded by the run ID, so replays
// draw the same numbers. Do not use it for secrets.
func Rand(wf *Context) *rand.Rand {
	wf.enter()
	i := wf.instance
	if i.random == nil {
		h := fnv.New128a()
		_, _ = h.Write([]byte(i.run.Self().Run))
		sum := h.Sum(nil)
		i.random = rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))
	}
	return i.random
}

// UUID makes a random UUID (version 4), the same in every replay.
func UUID(wf *Context) string {
	r := Rand(wf)
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}
