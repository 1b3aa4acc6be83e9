package wording

import (
	"fmt"

	"github.com/perdure/perdure/view"
)

// Hold is why the code of an open run cannot continue.
type Hold struct {
	What string   // a sentence
	Why  string   // what is known of it, as it is on record; may be empty
	Do   []string // sentences

	Difference *view.Mismatch // between history and code; may be nil
}

// HoldOf returns why the code of a run cannot continue, nil if it can.
func HoldOf(d *view.Description) *Hold {
	const open = "Nothing is lost and nothing is done twice. Other workflows continue."
	if d.Closed != nil || d.Status != view.StatusParked && d.Status != view.StatusWaitingForCode {
		return nil
	}
	switch {
	case d.Damage != nil && d.Damage.Coded:
		return &Hold{What: "Parked: what is on record of it cannot be read here.", Why: d.Damage.Problem, Do: []string{
			open, "If an engine has no codec, key or blob that decodes it, give it that and start it again: the workflow continues.",
		}}
	case d.Damage != nil:
		restore := "Restore"
		if d.Damage.Newer {
			restore = "If a newer version has written it, start an engine of that version. Else restore"
		}
		return &Hold{What: "Parked: what is on record of it cannot be read.", Why: d.Damage.Problem, Do: []string{
			"Its code does not run, and nothing is done twice. Other workflows continue.", restore + " the database from a backup and start the engine again, or " + orMend(d.Damage),
		}}
	case d.Mismatch != nil:
		return &Hold{
			What: "Parked: its code asks for something other than its history records.", Why: fmt.Sprintf("turn %d, command %d", d.Mismatch.Turn, d.Mismatch.Command),
			Do: []string{"Nothing is lost: start an engine with code that fits, and the workflow continues."}, Difference: d.Mismatch,
		}
	case d.Status == view.StatusWaitingForCode:
		return &Hold{What: "Waiting for an engine that has its code. Nothing is lost."}
	case d.Status == view.StatusParked:
		return &Hold{What: "Parked: its code could not run.", Do: []string{"Nothing is lost: start an engine with code that can, and the workflow continues."}}
	}
	return nil
}

// orMend says what else can be done about damage.
func orMend(d *view.Damage) string {
	if d.LastCall > 0 {
		return fmt.Sprintf("reset it to call %d or an earlier one, or terminate it.", d.LastCall)
	}
	return "terminate it."
}
