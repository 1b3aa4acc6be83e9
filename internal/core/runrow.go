package core

import (
	"bytes"
	"slices"
)

// MaxSays is the maximum length of the status text that the code sets with Say, in bytes.
const MaxSays = 500

// runRow is the part of the run's row that turns change.
type runRow struct {
	state        State    // as last committed, or about to be committed
	stateChanged bool     // state has changes that no turn carries yet
	pauseChanged bool     // the pause changed and state does not show it yet
	outOfDate    bool     // state still shows that the code did not fit, and now it does
	says         string   // status text that the code set
	shown        string   // status text in state
	pin          string   // build to which the run is pinned, empty for none
	pinChanged   bool     // the pin changed and state does not show it yet
	awaited      []string // names of signals in state; see Detail.Awaited
}

// State returns the state of the run's row after the last step.
func (r *runRow) State() State { return r.state }

// load sets the state of a replayed run, with or without its code.
func (r *runRow) load(state State, withCode bool) {
	r.state, r.pauseChanged, r.outOfDate = state, false, false
	if d, err := DecodeDetail(state.Detail); err == nil {
		r.shown, r.pinChanged, r.awaited = d.Says, d.Pin != r.pin, d.Awaited
		r.outOfDate = withCode && (len(d.Tried) > 0 || d.Suspect != nil)
	}
	if !withCode {
		r.says = r.shown
	}
}

// Say sets the status text of the run. It is not a command and not in history: code that
// replays sets the same text again. The text is part of the run's row, which is written
// only if the text differs.
func (r *runRow) Say(text string) { r.says = text }

// Says returns the status text in the run's row.
func (r *runRow) Says() string { return r.shown }

// Pin returns the build to which the run is pinned, empty for none.
func (r *runRow) Pin() string { return r.pin }

// Awaited returns the names in the run's row of signals that it takes although it is full.
func (r *runRow) Awaited() []string { return r.awaited }

// show writes the status and the code's status text into the row of a running run, and which
// signals it takes although it is full. A held or closed run keeps its last text.
func (r *runRow) show(ended bool, paused *Pause, awaited []string) {
	news := !slices.Equal(awaited, r.awaited)
	r.awaited = awaited
	status := StatusRunning
	if paused != nil {
		status = StatusPaused
	}
	switch {
	case ended:
	case r.held():
		r.showHeld(paused, news)
	case status == r.state.Status && r.says == r.shown && !r.pauseChanged && !r.pinChanged && !r.outOfDate && !news:
	default:
		r.state.Status, r.state.Detail = status, nil
		if r.says != "" || paused != nil || r.pin != "" || len(awaited) > 0 {
			r.state.Detail = encodeDetail(Detail{Says: r.says, Paused: paused, Pin: r.pin, Awaited: awaited})
		}
		r.shown, r.stateChanged, r.outOfDate = r.says, true, false
	}
	r.pauseChanged, r.pinChanged = false, false
}

// showHeld writes what changes of a held run into its row: the pause, the pin and the
// signals that it waits for.
func (r *runRow) showHeld(paused *Pause, news bool) {
	if !r.pauseChanged && !r.pinChanged && !news {
		return
	}
	if d, err := DecodeDetail(r.state.Detail); err == nil {
		d.Paused, d.Pin, d.Awaited = paused, r.pin, r.awaited
		r.state.Detail, r.stateChanged = encodeDetail(d), true
	}
}

// Hold changes the status of an open run that has no program to parked or waiting for code,
// with the reason. It takes effect with the next step. It returns false if the row already
// says so.
func (r *Run) Hold(status Status, d Detail) (changed bool) {
	d.Says, d.Paused, d.Pin, d.Awaited = r.says, r.paused, r.pin, r.awaited
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

// Resume ends the hold of a run with the next step and reports whether the run was held. A
// run that is also paused stays paused.
func (r *runRow) Resume() (held bool) {
	if held = r.held(); held {
		r.state.Status = "" // show sets the status
	}
	return held
}

// crashed returns the detail of a run that is parked because its code ended processes. It is
// asked after each turn, so it reads only rows of parked runs.
func (r *runRow) crashed() (d Detail, is bool) {
	if r.state.Status != StatusParked {
		return d, false
	}
	d, err := DecodeDetail(r.state.Detail)
	return d, err == nil && d.Deaths > 0
}

// letGo lets the code of a crashed run be tried again.
func (r *runRow) letGo(d Detail) {
	d.Fingerprint, d.Tried = "", nil
	r.state.Detail, r.stateChanged = encodeDetail(d), true
}

// LetGo reports whether an operator wants the code of a parked run to be tried again.
func (r *runRow) LetGo() bool {
	d, is := r.crashed()
	return is && d.LetGo(r.state.Status)
}

// LetGo reports whether an operator wants the code of a run with this status to be tried
// again.
func (d *Detail) LetGo(status Status) bool {
	return status == StatusParked && d.Deaths > 0 && d.Fingerprint == ""
}

// held reports whether the run's row says that the run has no code.
func (r *runRow) held() bool {
	return r.state.Status == StatusParked || r.state.Status == StatusWaitingForCode
}
