package store

import (
	"cmp"
	"slices"
)

// Attempt is a ledger row: one closed attempt.
type Attempt struct {
	Partition int
	Run       string
	Call      int64
	Number    int    // attempt, 1 for the first
	Name      string // of the activity or step
	Outcome   string // completed, failed, timed-out, lost, drained, canceled, refused
	ErrorType string
	Reason    string // why it was retried or not
	Started   int64  // ns
	Ended     int64  // ns
	Data      []byte // everything else, encoded

	// Prune deletes the ledger row of this attempt number of the same call, so that a call
	// keeps its first and last attempts; 0 for none.
	Prune int
}

// OutcomeCompleted is the outcome of a successful attempt.
const OutcomeCompleted = "completed"

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
	Limit      int         // 0: 100
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

// Tally counts closed calls. A turn adds its tallies to the counters of one bucket, type and
// name. Counters belong to all partitions of a group together; the store chooses in which of
// the partitions that share a commit domain it keeps them.
type Tally struct {
	Bucket int64  // start of its time span, ns
	Type   string // name of the workflow definition
	Name   string // of the activity or step

	FirstTry  int64 // succeeded at the first attempt
	Recovered int64 // succeeded later
	Exhausted int64 // exhausted their attempts, time or budget
	Failed    int64 // stopped for another reason
	Canceled  int64 // no longer wanted
	ByHand    int64 // ended by a person
	Attempts  int64 // of all these calls
	Retrying  int64 // ns from the end of the first attempt to the end of the call, of calls with several attempts
}

// Add adds the counts of another tally.
func (t *Tally) Add(more *Tally) {
	t.FirstTry += more.FirstTry
	t.Recovered += more.Recovered
	t.Exhausted += more.Exhausted
	t.Failed += more.Failed
	t.Canceled += more.Canceled
	t.ByHand += more.ByHand
	t.Attempts += more.Attempts
	t.Retrying += more.Retrying
}

// MergeTallies adds up the tallies of the same activity of the same workflow, for stores
// that read them in parts. The result is ordered by type and name; it reuses the slice.
func MergeTallies(tallies []Tally) []Tally {
	compare := func(a, b Tally) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(tallies, compare)
	merged := tallies[:0]
	for i := range tallies {
		t := tallies[i]
		if n := len(merged) - 1; n >= 0 && compare(merged[n], t) == 0 {
			merged[n].Bucket = min(merged[n].Bucket, t.Bucket)
			merged[n].Add(&t)
			continue
		}
		merged = append(merged, t)
	}
	return merged
}

// TallyFilter selects counters. The zero value selects all.
type TallyFilter struct {
	Partitions []int  // of a group; nil: all
	Type       string // name of the workflow definition
	Name       string // of the activity or step
	From       int64  // buckets that begin at this time or later, ns
	Until      int64  // buckets that begin before this time, ns; 0: all
}
