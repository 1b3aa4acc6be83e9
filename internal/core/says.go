package core

// MaxSays is how long what code says of where it stands may be, in bytes.
const MaxSays = 500

// Say sets what the code says of where it stands. It is no command and not in
// history: code that replays says the same again. It is part of the run's row, and
// written only if it is another text than before.
func (r *Run) Say(text string) { r.says = text }

// Says is what the run's row says of where it stands.
func (r *Run) Says() string { return r.shown }

// show puts what the code says into the row of a run that goes on. One that is held
// or has ended shows what was said last.
func (r *Run) show() {
	if r.says == r.shown || r.state.Status != StatusRunning {
		return
	}
	r.state.Detail = saying(r.says)
	r.shown, r.stateChanged = r.says, true
}

// saying is the detail of a running run.
func saying(text string) []byte {
	if text == "" {
		return nil
	}
	return encodeDetail(Detail{Says: text})
}
