package mark

// Outcome marks an error that says whether the attempt had its effect.
type Outcome struct {
	Err error // the marked error

	// Unknown says that the attempt may have had its effect; otherwise it had none.
	Unknown bool
}

// Error returns the text of the marked error.
func (e *Outcome) Error() string { return textOf(e.Err, "error") }

// Unwrap returns the marked error.
func (e *Outcome) Unwrap() error { return e.Err }
