package inspect

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/view"
)

// Why says in a sentence why a run has not ended, and what to do about it: what it waits
// for, or that no node serves it. It returns "" for a closed run.
func (in *Inspector) Why(ctx context.Context, workflowID, run string) (string, error) {
	row, err := in.Find(ctx, workflowID, run)
	if err != nil || !row.Status.Open() {
		return "", err
	}
	o, err := in.obstacles(ctx)
	if err != nil {
		return "", err
	}
	v := runOf(row)
	if err := o.addWait(ctx, row, &v); err != nil {
		return "", err
	}
	why := sentence(v.Wait)
	s := &view.Status{}
	if _, err := in.servers(ctx, s); err != nil || s.Served {
		return why, err
	}
	nobody := "no live node serves it; start an engine"
	if in.group.Name != "" {
		nobody += fmt.Sprintf(" of the group %q", in.group.Name)
	}
	if w := v.Wait; w != nil && !w.ByItself() {
		return nobody + ", and " + why, nil
	}
	return nobody, nil
}

// Mend is what to do about a run whose record is partly unreadable.
const Mend = "restore it from a backup and start the engine again, continue from a call before the damage with ops.ResetRun, or end it with ops.TerminateRun"

// sentence says what is waited for, and what to do about it.
func sentence(w *view.Wait) string {
	if w == nil {
		return "its code runs"
	}
	by, failed := behind(" by ", w.By), ""
	if w.Why != "" {
		by += " (" + w.Why + ")"
	}
	if w.Error != "" {
		failed = fmt.Sprintf(", after %d failed attempts: %s", w.Failures, w.Error)
		if w.Failures == 1 {
			failed = ", after a failed attempt: " + w.Error
		}
	}
	if text := notBegun(w); text != "" {
		return text
	}
	call := whichCall(w)
	until := ""
	if w.Until != nil {
		until = " until " + w.Until.UTC().Format(time.RFC3339)
	}
	switch w.For {
	case view.WaitParked:
		return "it is parked: " + w.Why + "; " + mendCode(w.Broken)
	case view.WaitDamaged:
		return "what is on record of it cannot be read: " + w.Why + "; " + Mend
	case view.WaitCode:
		if w.Build != "" {
			return w.Why + "; start an engine of that build, or give it another one with ops.MoveRun"
		}
		return cmp.Or(w.Why, "no node has its code") + "; start an engine that registers it"
	case view.WaitPaused:
		if w.Call == 0 {
			return "it is paused" + by + "; resume it with ops.ResumeRun"
		}
		return call + " is paused" + by + failed + "; resume it with ops.Resume or ops.RetryNow"
	case view.WaitQuarantined:
		then := "; find out why before another attempt with ops.RetryNow, or end it with ops.FailNow or ops.Skip"
		if w.NoOtherBuild {
			then = "; deploy another build, since every live node has one on which it crashed, or end it with ops.FailNow or ops.Skip"
		}
		return call + " is quarantined, because it " + crashed(w.Crashes) + failed + then
	case view.WaitInDoubt:
		return call + inDoubt + failed + decideDoubt
	case view.WaitActivityPaused:
		return fmt.Sprintf("activity %s is paused%s%s; resume it with ops.ResumeActivity", w.Name, by, until)
	case view.WaitGatePaused:
		return fmt.Sprintf("%s waits at gate %s, which is paused%s; resume it with ops.ResumeGate", call, w.Gate, by)
	case view.WaitBreaker:
		return fmt.Sprintf("%s waits at gate %s, whose circuit breaker%s is open%s%s", call, w.Gate, behind(" for key ", w.Key), until, failed)
	case view.WaitGate:
		return call + " waits at a gate" + behind(" ", w.Gate) + failed
	case view.WaitBackoff:
		return call + " is in backoff" + until + failed
	case view.WaitUnserved:
		if w.Queue == "" {
			return fmt.Sprintf("%s waits for a process that may run it: %s", call, w.Why)
		}
		return fmt.Sprintf("%s waits in the queue %s: %s; start one (perdure.ServeQueue)", call, w.Queue, w.Why)
	case view.WaitQueue:
		return fmt.Sprintf("%s waits in the queue %s for a process that serves it and is free%s", call, w.Queue, failed)
	case view.WaitSlot:
		return call + " waits for a free slot of its node, or for a node that has registered its activity" + failed
	case view.WaitExternal:
		return call + " waits for its completion by a token" + failed
	case view.WaitAttempt:
		return call + " runs" + failed
	case view.WaitTimer:
		return "it sleeps" + until
	case view.WaitSignal:
		return fmt.Sprintf("it waits for the signal %q", w.Name)
	case view.WaitChild:
		return call + " waits for its child workflow"
	}
	return "it waits for a message"
}

// mendCode says what to do about a parked run whose code did what is said.
func mendCode(broken string) string {
	switch broken {
	case "":
		return "start an engine with code that fits"
	case view.BrokenCrashed: // why it is parked says how to try it again
		return "fix the code and deploy it"
	}
	return "fix the code and deploy it, the log and the description have its stack"
}

// crashed says how often a call crashed its process, and where.
func crashed(all []view.Crash) string {
	if len(all) == 0 {
		return "was lost with its process"
	}
	text := "crashed its process"
	for i, c := range all {
		text += map[bool]string{true: " on ", false: ", "}[i == 0] + c.Node + behind(" of build ", c.Build)
	}
	return text
}

// behind returns what is said behind some words, "" without those words if it is nothing.
func behind(words, said string) string {
	if said == "" {
		return ""
	}
	return words + said
}

// What a call in doubt waits for, and what may be done about it.
const (
	inDoubt     = " is in doubt: an attempt may have had its effect, and nobody could say"
	decideDoubt = "; ask again with ops.Ask, or find out and complete it with ops.Skip, repeat it with ops.RetryNow, or end it with ops.FailNow"
)

// notBegun says why the code of a run may not begin, "" if that is not what is waited for.
func notBegun(w *view.Wait) string {
	switch {
	case w.Call == 0 && w.For == view.WaitGate:
		return "it has not begun: as many runs of its key run as may (perdure.PerKey); change that with ops.EditGate of " + w.Gate
	case w.Call == 0 && w.For == view.WaitSlot:
		return "it has not begun: it waits for a free slot of its node"
	}
	return ""
}

func whichCall(w *view.Wait) string {
	if w.Call == 0 {
		return "it"
	}
	return fmt.Sprintf("call %d (%s)", w.Call, w.Name)
}
