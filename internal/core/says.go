package core

// MaxSays is how long what code says of where it stands may be, in bytes.
const MaxSays = 500

// Say sets what the code says of where it stands. It is no command and not in
// history: code that replays says the same again. It is part of the run's row, and
// written only if it is another text than before.
func (r *Run) Say(text string) { r.says = text }

// Says is what the run's row says of where it stands.
func (r *Run) Says() string { return r.shown }

// show puts how the run stands, and what the code says of it, into the row of a run
// that goes on. One that is held or has ended shows what was said last.
func (r *Run) show() {
	status := StatusRunning
	if r.paused != nil {
		status = StatusPaused
	}
	switch {
	case r.ended:
	case r.held():
		r.showPause()
	case status == r.state.Status && r.says == r.shown && !r.pauseChanged:
	default:
		r.state.Status, r.state.Detail = status, nil
		if r.says != "" || r.paused != nil {
			r.state.Detail = encodeDetail(Detail{Says: r.says, Paused: r.paused})
		}
		r.shown, r.stateChanged = r.says, true
	}
	r.pauseChanged = false
}

// showPause puts into the row of a held run whether it is paused, too.
func (r *Run) showPause() {
	if !r.pauseChanged {
		return
	}
	if d, err := DecodeDetail(r.state.Detail); err == nil {
		d.Paused = r.paused
		r.state.Detail, r.stateChanged = encodeDetail(d), true
	}
}
