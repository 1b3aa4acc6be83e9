package core

import "bytes"

// MaxSays is how long what code says of where it stands may be, in bytes.
const MaxSays = 500

// runRow is the part of a run's row that turns change.
type runRow struct {
	state        State  // as last committed or about to be
	stateChanged bool   // and not yet part of a turn
	pauseChanged bool   // and the state does not say so yet
	outOfDate    bool   // the state says what was before there was code that fits
	says         string // what the code says of where it stands
	shown        string // the same in state
	pin          string // the build on which the run stays, empty for any
	pinChanged   bool   // and the state does not say so yet
}

// State is the state of the run's row as the last step left it.
func (r *runRow) State() State { return r.state }

// load takes the state of a run that was replayed, with its code or without.
func (r *runRow) load(state State, withCode bool) {
	r.state, r.pauseChanged, r.outOfDate = state, false, false
	if d, err := DecodeDetail(state.Detail); err == nil {
		r.shown, r.pinChanged = d.Says, d.Pin != r.pin
		r.outOfDate = withCode && (len(d.Tried) > 0 || d.Suspect != nil)
	}
	if !withCode {
		r.says = r.shown
	}
}

// Say sets what the code says of where it stands. It is no command and not in
// history: code that replays says the same again. It is part of the run's row, and
// written only if it is another text than before.
func (r *runRow) Say(text string) { r.says = text }

// Says is what the run's row says of where it stands.
func (r *runRow) Says() string { return r.shown }

// Pin is the build on which the run stays, empty if it may go on with any.
func (r *runRow) Pin() string { return r.pin }

// show puts how the run stands, and what the code says of it, into the row of a run
// that goes on. One that is held or has ended shows what was said last.
func (r *runRow) show(ended bool, paused *Pause) {
	status := StatusRunning
	if paused != nil {
		status = StatusPaused
	}
	switch {
	case ended:
	case r.held():
		r.showHeld(paused)
	case status == r.state.Status && r.says == r.shown && !r.pauseChanged && !r.pinChanged && !r.outOfDate:
	default:
		r.state.Status, r.state.Detail = status, nil
		if r.says != "" || paused != nil || r.pin != "" {
			r.state.Detail = encodeDetail(Detail{Says: r.says, Paused: paused, Pin: r.pin})
		}
		r.shown, r.stateChanged, r.outOfDate = r.says, true, false
	}
	r.pauseChanged, r.pinChanged = false, false
}

// showHeld puts into the row of a held run whether it is paused, and on which build it
// stays, too.
func (r *runRow) showHeld(paused *Pause) {
	if !r.pauseChanged && !r.pinChanged {
		return
	}
	if d, err := DecodeDetail(r.state.Detail); err == nil {
		d.Paused, d.Pin = paused, r.pin
		r.state.Detail, r.stateChanged = encodeDetail(d), true
	}
}

// Hold changes the status of an open run that has no program: parked or waiting
// for code, with the reason. It takes effect with the next step, unless that is
// how the run stands already.
func (r *Run) Hold(status Status, d Detail) (changed bool) {
	d.Says, d.Paused, d.Pin = r.says, r.paused, r.pin
	if was, err := DecodeDetail(r.state.Detail); err == nil && r.state.Status == status {
		d.Since = was.Since
	}
	detail := encodeDetail(d)
	if r.state.Status == status && bytes.Equal(r.state.Detail, detail) {
		return false
	}
	r.state.Status, r.state.Detail = status, detail
	r.stateChanged = true
	return true
}

// Resume makes a held run go on, with the next step, and reports whether it was
// held. One that is paused is paused again.
func (r *runRow) Resume() (held bool) {
	if held = r.held(); held {
		r.state.Status = "" // so that show says how it stands
	}
	return held
}

// held reports whether the run's row says that it has no code.
func (r *runRow) held() bool {
	return r.state.Status == StatusParked || r.state.Status == StatusWaitingForCode
}
