package store

import "context"

// Examiner is a Store that can examine what lies below the contract: orphaned rows, the
// server, its clock and its sessions. The SQL stores implement it.
type Examiner interface {
	Store
	// Examine returns what is wrong with the database as a whole, in no particular order. It
	// changes nothing. It omits what its database user may not see.
	Examine(ctx context.Context) ([]Symptom, error)
}

// Kinds of symptoms.
const (
	SymptomDamage   = "damage"   // the database's own structure is broken
	SymptomOrphan   = "orphan"   // rows belong to a run that does not exist
	SymptomStuck    = "stuck"    // messages wait although their partition has a live owner
	SymptomClock    = "clock"    // clocks differ, or one was set back
	SymptomPool     = "pool"     // connections are few or used up
	SymptomVacuum   = "vacuum"   // dead rows or pages pile up
	SymptomBlocking = "blocking" // a transaction blocks others, or keeps old rows alive
	SymptomTimeout  = "timeout"  // a limit of the server ends operations that the engine needs to finish
)

// Symptom is something wrong with a database.
type Symptom struct {
	Kind    string // see SymptomDamage
	Subject string // what it is about: a table, a session, a setting
	Problem string // what is wrong and why that matters, without a period
	Do      string // what to do, with the statement or command to type, without a period
}
