package view

// Overview is a run with all records of its calls, from one reading of its history.
type Overview struct {
	Description *Description
	Attempts    []Attempt       // as Handle.Attempts returns them
	Calls       []CallAttempts  // as Handle.Calls returns them
	Audit       []ControlRecord // as Handle.Audit returns them
}
