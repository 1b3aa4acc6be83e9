package core

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"sort"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// CallID returns the unique ID of a call. It is the trace ID of its attempts and their
// idempotency key.
func CallID(run string, call int64) string { return run + "/" + strconv.FormatInt(call, 10) }

// AttemptID returns the unique ID of an attempt.
func AttemptID(run string, call int64, attempt int) string {
	return run + "/" + strconv.FormatInt(call, 10) + "." + strconv.Itoa(attempt)
}

// sentID returns the ID of a signal that workflow code sends. Users cannot choose such an
// ID (history.Reserved), so none can be taken.
func sentID(run string, call int64) string { return "#send/" + CallID(run, call) }

// NextRunID returns the ID of the run that follows another one in its chain. Like all run
// IDs it is a UUID of version 7. It is greater than the previous ID, so that run IDs sort
// by creation time. Instead of random bits it has a hash of the previous ID.
func NextRunID(run string, now int64) string { return hashedRunID(RunTimeAfter(run, now), run) }

// RunTimeAfter returns the time that makes a new run ID greater than an earlier one: now,
// or just after the time in that ID.
func RunTimeAfter(run string, now int64) int64 {
	if len(run) > 13 {
		if ms, err := strconv.ParseUint(run[:8]+run[9:13], 16, 64); err == nil && ms < 1<<43 {
			return max(now, int64(ms+1)*1e6)
		}
	}
	return now
}

// ChildRunID returns the ID of the first run of a child. The machine derives it, as it
// derives the ID of the next run of a chain.
func ChildRunID(run string, call, now int64) string { return hashedRunID(now, CallID(run, call)) }

// hashedRunID returns a UUID of version 7 with a time, whose random part is a hash.
func hashedRunID(at int64, of string) string {
	ms, h := uint64(max(at, 0))/1e6, hash(of)
	return fmt.Sprintf("%08x-%04x-7%01x%02x-%02x%02x-%012x",
		ms>>16&0xffffffff, ms&0xffff, h[0]&0xf, h[1], h[2]&0x3f|0x80, h[3], h[4:10])
}

func hash(s string) []byte {
	sum := fnv.New128a()
	_, _ = sum.Write([]byte(s)) // never fails
	return sum.Sum(nil)
}

// keyRun returns the run after which a call of an activity or step is named.
func keyRun(s *history.Start, call int64, name string) string {
	if s.Base == nil {
		return s.Run
	}
	if run := s.Base.KeyOf(call, name); run != "" {
		return run
	}
	for _, was := range s.Base.Was {
		if call < was.Before && was.WorkflowID == s.WorkflowID {
			return was.Run
		}
	}
	return s.Run
}

// identityOf returns the identity that a run shows to its own code.
func identityOf(s *history.Start) history.Identity {
	return history.Identity{
		WorkflowID: s.WorkflowID, Run: s.Run, Attempt: s.Attempt,
		Created: s.Created, FirstTurn: s.FirstTurn, ChainDeadline: s.ChainDeadline,
	}
}

// FireID returns the workflow ID of a fire.
func FireID(schedule string, nominal int64) string {
	return schedule + "/" + time.Unix(0, nominal).UTC().Format(time.RFC3339Nano)
}

// TriggerID returns the workflow ID of a fire by hand. It derives from the nominal time or,
// if there is one, from the idempotency key, so that a repeated request gets the same ID.
func TriggerID(schedule string, nominal int64, request string) string {
	if request == "" {
		return FireID(schedule, nominal)
	}
	return schedule + "/trigger-" + hex.EncodeToString(hash(request))
}

// Uniform maps a run, a call and an attempt to a number in [0, 1). It is uniform and
// deterministic: FNV-1a over the run and both numbers, mixed by the finalizer of SplitMix64
// (Steele, Lea, Flood 2014).
func Uniform(run string, call int64, attempt int) float64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037)
	for i := range len(run) {
		h = (h ^ uint64(run[i])) * prime
	}
	for _, n := range [...]uint64{uint64(call), uint64(attempt)} {
		for range 8 {
			h = (h ^ n&0xff) * prime
			n >>= 8
		}
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	h ^= h >> 31
	return float64(h>>11) / (1 << 53)
}

// KeepKeys is how long a chain is certain to remember the IDs of signals, updates and
// operations. A run hands all younger IDs on to the next run of its chain, and fills up
// with the latest of the older ones to maxHandedOn or maxUpdates in all. Within a run no ID is
// forgotten: all of them are in its history, which has a limit.
const KeepKeys = time.Hour

// maxHandedOn is how many IDs of signals, and of operations, a run hands on when fewer are
// younger than KeepKeys.
const maxHandedOn = 10_000

// maxYoung is how many signals with IDs may come within KeepKeys. A run that has that many
// is full.
var maxYoung = 100_000

// signalKey returns the key that identifies a signal: name and ID, so that IDs of different
// signals do not collide: no name contains a NUL. It returns "" for a signal without an ID.
func signalKey(name, id string) string {
	if id == "" {
		return ""
	}
	return name + "\x00" + id
}

// idSet remembers IDs. It ignores the empty ID.
type idSet struct{ dedup[struct{}] }

func (s *idSet) has(id string) bool {
	_, known := s.get(id)
	return known
}

func (s *idSet) add(id string, at int64) { s.put(id, struct{}{}, at) }

// dedup maps IDs to the value that was put first for each. It ignores the empty ID.
type dedup[V any] struct {
	known map[string]V
	order []key // oldest first
}

// key is an ID and when it came, in ns. 0 means long ago: the time is not known.
type key struct {
	id string
	at int64
}

func (s *dedup[V]) get(id string) (v V, known bool) {
	v, known = s.known[id]
	return v, known
}

func (s *dedup[V]) put(id string, v V, at int64) {
	if _, known := s.known[id]; id == "" || known {
		return
	}
	if s.known == nil {
		s.known = map[string]V{}
	}
	s.known[id] = v
	s.order = append(s.order, key{id, at})
}

// young returns how many IDs came within KeepKeys.
func (s *dedup[V]) young(now int64) int {
	return len(s.order) - sort.Search(len(s.order), func(i int) bool { return s.order[i].at > now-int64(KeepKeys) })
}

// toHandOn returns the IDs to hand on, oldest first: the young ones, or the latest least if
// that is more.
func (s *dedup[V]) toHandOn(now int64, least int) []key {
	return s.order[max(0, len(s.order)-max(least, s.young(now))):]
}

// stamps returns when the young ones among keys came, in ms. They are the last of the keys.
func stamps(keys []key, now int64) (at []int64) {
	for _, k := range keys {
		if k.at > now-int64(KeepKeys) {
			at = append(at, k.at/int64(time.Millisecond))
		}
	}
	return at
}

// stampOf returns when key i of n came. at has the times of the last len(at) keys.
func stampOf(at []int64, i, n int) int64 {
	if i -= n - len(at); i < 0 {
		return 0
	}
	return at[i] * int64(time.Millisecond)
}
