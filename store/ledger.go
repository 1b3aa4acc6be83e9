package store

import (
	"cmp"
	"iter"
	"slices"
)

// Attempt is a ledger row: one closed attempt.
type Attempt struct {
	Partition int
	Run       string
	Call      int64
	Number    int    // attempt, 1 for the first
	Name      string // of the activity or step
	Outcome   string // completed, failed, timed-out, lost, drained, canceled, refused; of a question found, absent, unknown
	ErrorType string
	Reason    string // why it was retried or not
	Started   int64  // ns
	Ended     int64  // ns
	Data      []byte // everything else, encoded

	// Prune deletes the ledger row of this attempt number of the same call, so that a call
	// keeps its first and last attempts; 0 for none.
	Prune int
}

// Outcomes of attempts that stores know: of one that succeeded, and of one that was lost with its
// process.
const (
	OutcomeCompleted = "completed"
	OutcomeLost      = "lost"
)

// LedgerKey is the position of an attempt in the ledger. Listings are descending by Ended,
// Run, Call and Number.
type LedgerKey struct {
	Ended  int64
	Run    string
	Call   int64
	Number int
}

// Key returns the attempt's position.
func (a *Attempt) Key() LedgerKey { return LedgerKey{a.Ended, a.Run, a.Call, a.Number} }

// Compare returns a negative number if k is below other, zero if they are equal.
func (k LedgerKey) Compare(other LedgerKey) int {
	return cmp.Or(cmp.Compare(k.Ended, other.Ended), cmp.Compare(k.Run, other.Run), cmp.Compare(k.Call, other.Call), cmp.Compare(k.Number, other.Number))
}

// AttemptRange selects a part of the ledger of a run. The zero value selects all of it.
type AttemptRange struct {
	Call   int64      // only of this call; 0: of all
	After  AttemptKey // only attempts after this one
	Latest bool       // only the last attempt of each call
	Limit  int        // at most this many; 0: all
}

// AttemptKey orders the attempts of a run: by call, then by number.
type AttemptKey struct {
	Call   int64
	Number int
}

// Compare returns a negative number if k is before other, zero if they are equal.
func (k AttemptKey) Compare(other AttemptKey) int {
	return cmp.Or(cmp.Compare(k.Call, other.Call), cmp.Compare(k.Number, other.Number))
}

// LedgerFilter selects attempts of the ledger. The zero value selects all.
type LedgerFilter struct {
	Partitions []int  // nil: all
	Type       string // name of the workflow definition
	Name       string // of the activity or step
	ErrorType  string
	Outcome    string
	Reason     string
	From       int64       // ended at this time or later, ns
	Until      int64       // ended before this time, ns; 0: all
	Attributes []Attribute // all of these, of the run
	Latest     bool        // only the last attempt of each call
	Above      int         // only attempts with a higher number
	Before     *LedgerKey  // only those that are listed after this one (paging)
	Limit      int         // 0: 100; see Reader.Errors
}

// Selects reports whether the filter's conditions on the attempt itself hold.
func (f *LedgerFilter) Selects(a *Attempt) bool {
	return (f.Name == "" || a.Name == f.Name) &&
		(f.ErrorType == "" || a.ErrorType == f.ErrorType) &&
		(f.Outcome == "" || a.Outcome == f.Outcome) &&
		(f.Reason == "" || a.Reason == f.Reason) &&
		a.Ended >= f.From && (f.Until == 0 || a.Ended < f.Until) &&
		a.Number > f.Above &&
		(f.Before == nil || a.Key().Compare(*f.Before) < 0)
}

// LedgerEntry is an attempt with its run's workflow ID and type.
type LedgerEntry struct {
	Attempt
	WorkflowID string
	Type       string // name of the workflow definition
}

// ErrorGroup counts the attempts of one activity or step in the ledger that ended with one type
// of error.
type ErrorGroup struct {
	Name      string
	ErrorType string
	Attempts  int         // that ended with the error
	Calls     int         // with such attempts
	Recovered int         // of these calls, those that completed in the end
	First     int64       // when the earliest of the attempts ended, ns
	Last      int64       // when the latest of the attempts ended, ns
	Example   LedgerEntry // the latest attempt
}

// FromLatest returns the time from which on at least n of the given times are, the latest ones;
// otherwise from. It reorders the slice.
func FromLatest(n int, times []int64, from int64) int64 {
	if n == 0 || len(times) < n {
		return from
	}
	slices.Sort(times)
	return max(from, times[len(times)-n])
}

// MergeErrors merges the groups of the same error, for stores that read them in parts. The
// result is ordered by name and type of the error; it reuses the slice.
func MergeErrors(groups []ErrorGroup) []ErrorGroup {
	compare := func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ErrorType, b.ErrorType))
	}
	slices.SortFunc(groups, compare)
	merged := groups[:0]
	for _, g := range groups {
		n := len(merged) - 1
		if n < 0 || compare(merged[n], g) != 0 {
			merged = append(merged, g)
			continue
		}
		m := &merged[n]
		if g.Example.Key().Compare(m.Example.Key()) > 0 {
			m.Example = g.Example
		}
		m.Attempts, m.Calls, m.Recovered = m.Attempts+g.Attempts, m.Calls+g.Calls, m.Recovered+g.Recovered
		m.First, m.Last = min(m.First, g.First), max(m.Last, g.Last)
	}
	return merged
}

// TallyKey says what a tally counts.
type TallyKey struct {
	Partition int    // where a store keeps it, in copies of databases; 0 in turns and in what is added up
	Bucket    int64  // start of its time span, ns; 0 for all of them together
	Type      string // name of the workflow definition
	Name      string // of the activity or step; empty for the runs of the workflow themselves
	Took      int64  // what ended took less than this, ns, from when it was scheduled; 0: unknown
}

// Compare orders keys.
func (k TallyKey) Compare(other TallyKey) int {
	return cmp.Or(cmp.Compare(k.Partition, other.Partition), cmp.Compare(k.Bucket, other.Bucket),
		cmp.Compare(k.Type, other.Type), cmp.Compare(k.Name, other.Name), cmp.Compare(k.Took, other.Took))
}

// Tally counts closed calls, and runs. A turn adds its tallies to the counters of their keys.
// Counters belong to all partitions of a group together; the store chooses in which of the
// partitions that share a commit domain it keeps them.
type Tally struct {
	TallyKey

	Started   int64 // runs; calls are not counted when they start
	FirstTry  int64 // succeeded at the first attempt; runs that completed
	Recovered int64 // succeeded later
	Exhausted int64 // exhausted their attempts, time or budget
	Failed    int64 // stopped for another reason; runs that failed or timed out
	Canceled  int64 // no longer wanted; runs that were canceled or terminated
	ByHand    int64 // ended by a person
	Attempts  int64 // of all these calls
	Retrying  int64 // ns from the end of the first attempt to the end of the call, of calls with several attempts
}

// TallyCounts are the names of the columns of what a tally counts, in the order of Counts.
const TallyCounts = "started, first_try, recovered, exhausted, failed, canceled, by_hand, attempts, retrying"

// Counts returns where the tally's counts are.
func (t *Tally) Counts() [9]*int64 {
	return [...]*int64{&t.Started, &t.FirstTry, &t.Recovered, &t.Exhausted, &t.Failed, &t.Canceled, &t.ByHand, &t.Attempts, &t.Retrying}
}

// Add adds the counts of another tally.
func (t *Tally) Add(more *Tally) {
	counts := more.Counts()
	for i, n := range t.Counts() {
		*n += *counts[i]
	}
}

// AddUp adds up tallies under the keys that are given with them. The sums are in the order of
// their keys.
func AddUp(tallies iter.Seq2[TallyKey, *Tally]) (sums []Tally) {
	places := map[TallyKey]int{}
	for key, t := range tallies {
		at, known := places[key]
		if !known {
			at = len(sums)
			places[key], sums = at, append(sums, Tally{TallyKey: key})
		}
		sums[at].Add(t)
	}
	slices.SortFunc(sums, func(a, b Tally) int { return a.Compare(b.TallyKey) })
	return sums
}

// Keyed returns tallies with their keys.
func Keyed(tallies []Tally, key func(*Tally) TallyKey) iter.Seq2[TallyKey, *Tally] {
	return func(yield func(TallyKey, *Tally) bool) {
		for i := range tallies {
			if !yield(key(&tallies[i]), &tallies[i]) {
				return
			}
		}
	}
}

// TallyFilter selects counters. The zero value selects all.
type TallyFilter struct {
	Partitions []int  // of a group; nil: all
	Type       string // name of the workflow definition
	Name       string // of the activity or step
	From       int64  // buckets that begin at this time or later, ns
	Until      int64  // buckets that begin before this time, ns; 0: all
	ByBucket   bool   // a sum for each bucket; else for all of them together, in the bucket 0
}

// Key returns the key of the sum to which a tally belongs.
func (f *TallyFilter) Key(t *Tally) TallyKey {
	key := t.TallyKey
	if key.Partition = 0; !f.ByBucket {
		key.Bucket = 0
	}
	return key
}

// Selects reports whether the filter selects a tally, wherever it is kept.
func (f *TallyFilter) Selects(t *Tally) bool {
	return (f.Type == "" || t.Type == f.Type) && (f.Name == "" || t.Name == f.Name) && t.Bucket >= f.From && (f.Until == 0 || t.Bucket < f.Until)
}
