package core

import (
	"bytes"
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// MaxSays is the maximum length of the status text that the code sets with Say, in bytes.
const MaxSays = 500

// runRow is the part of the run's row that turns change.
type runRow struct {
	state        State              // as last committed, or about to be committed
	stateChanged bool               // state has changes that no turn carries yet
	pauseChanged bool               // the pause changed and state does not show it yet
	pinChanged   bool               // the pin changed and state does not show it yet
	outOfDate    bool               // state still shows that the code did not fit, and now it does
	says         string             // status text that the code set
	writtenSays  string             // status text in state
	pin          string             // build to which the run is pinned, empty for none
	awaited      []string           // names of signals in state; see Detail.Awaited
	admission    *history.Admission // in state
}

// load sets the state of a replayed run, with or without its code.
func (w *runRow) load(state State, withCode bool) {
	w.state, w.pauseChanged, w.outOfDate = state, false, false
	if d, err := DecodeDetail(state.Detail); err == nil {
		w.writtenSays, w.pinChanged, w.awaited = d.Says, d.Pin != w.pin, d.Awaited
		w.admission = d.Admission
		w.outOfDate = withCode && (len(d.Tried) > 0 || d.Suspect != nil)
	}
	if !withCode {
		w.says = w.writtenSays
	}
}

// update writes the status and the code's status text into the row of a running run, and which
// signals it takes although it is full. A closed run and one without code
// keep their last text.
func (w *runRow) update(ended bool, paused *Pause, awaited []string, admission *history.Admission) {
	news := !slices.Equal(awaited, w.awaited) || admission != w.admission
	w.awaited, w.admission = awaited, admission
	status := StatusRunning
	if paused != nil {
		status = StatusPaused
	}
	switch {
	case ended:
	case w.withoutCode():
		w.updateWithoutCode(paused, news)
	case status == w.state.Status && w.says == w.writtenSays && !w.pauseChanged && !w.pinChanged && !w.outOfDate && !news:
	default:
		w.state.Status, w.state.Detail = status, nil
		if w.says != "" || paused != nil || w.pin != "" || len(awaited) > 0 || admission != nil {
			w.state.Detail = EncodeDetail(Detail{Says: w.says, Paused: paused, Pin: w.pin, Awaited: awaited, Admission: admission})
		}
		w.writtenSays, w.stateChanged, w.outOfDate = w.says, true, false
	}
	w.pauseChanged, w.pinChanged = false, false
}

// updateWithoutCode writes what changes of a run without code into its row: the pause, the
// pin and the signals that it waits for.
func (w *runRow) updateWithoutCode(paused *Pause, news bool) {
	if !w.pauseChanged && !w.pinChanged && !news {
		return
	}
	if d, err := DecodeDetail(w.state.Detail); err == nil {
		d.Paused, d.Pin, d.Awaited, d.Admission = paused, w.pin, w.awaited, w.admission
		w.state.Detail, w.stateChanged = EncodeDetail(d), true
	}
}

// Hold changes the status of an open run that has no program to parked or waiting for code,
// with the reason. It takes effect with the next step. It returns false if the row already
// gives that reason for this code, although it may not say yet where else the code was tried.
func (r *Run) Hold(status Status, d Detail) (news bool) {
	d.Says, d.Paused, d.Pin, d.Awaited, d.Admission = r.row.says, r.journal.paused, r.row.pin, r.row.awaited, r.row.admission
	news = true
	if was, err := DecodeDetail(r.row.state.Detail); err == nil && r.row.state.Status == status {
		d.Since, news = was.Since, was.Reason != d.Reason || was.Fingerprint != d.Fingerprint
	}
	detail := EncodeDetail(d)
	if r.row.state.Status != status || !bytes.Equal(r.row.state.Detail, detail) {
		r.row.state.Status, r.row.state.Detail = status, detail
		r.row.stateChanged = true
	}
	return news
}

// Resume ends Hold with the next step and reports whether the row says that the run has no
// code. A run that is also paused stays paused.
func (r *Run) Resume() bool {
	if !r.row.withoutCode() {
		return false
	}
	r.row.state.Status = "" // update sets the status
	return true
}

// parkedForCrash returns the detail of a run that is parked because its code ended processes.
// Each turn asks for it, so it reads only rows of parked runs.
func (w *runRow) parkedForCrash() (d Detail, is bool) {
	if w.state.Status != StatusParked {
		return d, false
	}
	d, err := DecodeDetail(w.state.Detail)
	return d, err == nil && d.Deaths > 0
}

// releaseCode lets the code of a crashed run be tried again.
func (w *runRow) releaseCode(d Detail) {
	d.Fingerprint, d.Tried = "", nil
	w.state.Detail, w.stateChanged = EncodeDetail(d), true
}

// LetGo reports whether an operator wants the code of a parked run to be tried again.
func (r *Run) LetGo() bool {
	d, is := r.row.parkedForCrash()
	return is && d.LetGo(r.row.state.Status)
}

// withoutCode reports whether the run's row says that the run has no code.
func (w *runRow) withoutCode() bool {
	return w.state.Status == StatusParked || w.state.Status == StatusWaitingForCode
}
