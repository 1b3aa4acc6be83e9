package sim

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/perdure/perdure/store"
)

// hearsay is what clients asked and what they were told, and when.
type hearsay struct {
	begun     time.Time
	forgetful bool // runs of chains are deleted soon, so there may be none
	mu        sync.Mutex
	all       []porcupine.Operation
}

// What clients ask. All but starts are about the latest run of a workflow ID.
type (
	starts     struct{}
	signals    struct{ n int }
	updates    struct{ n int }
	results    struct{}
	asksForEnd struct{}

	started struct {
		run      string
		attached bool
	}
	asked struct {
		id   string
		what any
	}
)

// never is when a request returns whose answer says nothing about its effect.
const never = 1 << 62

// record asks something and records the answer, which it returns. An error says that the client
// knows nothing about the effect, unless it is one that the model knows.
func (h *hearsay) record(w *world, id string, what any, ask func() any) any {
	h.mu.Lock()
	i := len(h.all)
	h.all = append(h.all, porcupine.Operation{ClientId: i, Input: asked{id, what}, Call: h.now(), Return: never})
	h.mu.Unlock()
	answer := ask()
	w.trace.explain("  %s of %s: %v", nameOf(what), id, answer)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[i].Output = answer
	if answer == nil || known(answer) {
		h.all[i].Return = h.now()
	}
	return answer
}

// now is a time that no other call gets.
func (h *hearsay) now() int64 { return int64(time.Since(h.begun))<<10 + int64(len(h.all)) }

// known reports whether an answer says for certain what happened.
func known(answer any) bool {
	err, failed := answer.(error)
	return !failed || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrNotFound)
}

func nameOf(what any) string { return strings.TrimPrefix(fmt.Sprintf("%T%v", what, what), "sim.") }
