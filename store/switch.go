package store

import (
	"fmt"
	"strings"
)

// Switch is an entry of a group's log of switches. From then on something is off, or on again,
// on all nodes of the group. Kind and Name say what; the latest entry counts. The log is
// small, because people write it.
type Switch struct {
	Number  int64  // assigned by the store; increasing within the group
	Group   string // of nodes
	Kind    string // of what is switched: SwitchActivity, SwitchCanary, SwitchCrash, SwitchWorkflow
	Name    string // of what is switched
	Off     bool
	Share   int    // of a SwitchCanary: see there
	Lasts   int64  // of a SwitchActivity that is Off: ns from Time, after which it is on again by itself; 0: until it is switched
	Request string // idempotency key: a repeated request is not written again
	By      string // the person
	Why     string
	Time    int64 // ns, assigned by the store
}

// SwitchActivity is the kind of a switch that stops calls of an activity from starting
// attempts. The inline steps of one name of a workflow are switched under their StepName.
const SwitchActivity = "activity"

// IsOff reports whether what is switched is off at a time.
func (s *Switch) IsOff(now int64) bool { return s.Off && (s.Lasts == 0 || now < s.Ends()) }

// Ends is when it is on again by itself, 0 if it does not end.
func (s *Switch) Ends() int64 {
	if !s.Off || s.Lasts == 0 {
		return 0
	}
	return s.Time + s.Lasts
}

// SwitchCanary is the kind of a switch that gives a share of the runs that begin to nodes
// of one build, which is its name: Share of WholeShare. While it is Off the share is in
// force, unless a later entry of this kind, of whatever name, replaces it.
const SwitchCanary = "canary"

// SwitchCrash is the kind of an entry about an activity on one build whose calls ended their
// processes, or no longer do; CrashName is its name. Engines write it. While it is Off, calls
// of the activity start no attempts on nodes of that build, until a later entry of the kind
// SwitchActivity that is not Off lets the activity go.
const SwitchCrash = "crash"

// SwitchWorkflow is the kind of an entry about a workflow on one build whose code ended its
// processes, or no longer does; CrashName is its name. Engines write it. While it is Off,
// nodes of that build load no run of the workflow with its code.
const SwitchWorkflow = "workflow"

// CrashName returns the name of a SwitchCrash or SwitchWorkflow.
func CrashName(of, build string) string { return of + "\n" + build }

// OfCrash returns the activity or workflow and the build in the name of a SwitchCrash or
// SwitchWorkflow.
func OfCrash(name string) (of, build string) {
	of, build, _ = strings.Cut(name, "\n")
	return of, build
}

// StepName is the name under which the inline steps of one name of a workflow are switched.
func StepName(workflow, step string) string { return workflow + "/" + step }

// WholeShare is the Share of all runs.
const WholeShare = 10_000

// Validate returns an error if no store would keep the switch.
func (s *Switch) Validate() error {
	switch {
	case s.Kind == "" || s.Name == "":
		return fmt.Errorf("a switch needs a kind and a name: it has %q and %q", s.Kind, s.Name)
	case s.Share < 0 || s.Share > WholeShare || s.Share != 0 && s.Kind != SwitchCanary:
		return fmt.Errorf("the share of the switch of %s %q is %d: only that of a %s has one, from 0 to %d", s.Kind, s.Name, s.Share, SwitchCanary, WholeShare)
	case s.Lasts < 0 || s.Lasts != 0 && (s.Kind != SwitchActivity || !s.Off):
		return fmt.Errorf("the switch of %s %q lasts %d ns: only one that switches an activity off may end by itself", s.Kind, s.Name, s.Lasts)
	case s.Request == "":
		return fmt.Errorf("the switch of %s %q names no request: a repeated one could not be told from the first", s.Kind, s.Name)
	}
	return text("switch", s.Group, s.Kind, s.Name, s.Request, s.By, s.Why)
}
