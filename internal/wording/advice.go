package wording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// Step is something that a person can do about a wait.
type Step struct {
	Do   string // a command of package internal/command, or one of the constants below; "": it is done elsewhere
	Says string // what it does, or what is to be done elsewhere; a clause without a full stop
}

// What steps do besides operations on runs and calls.
const (
	DoResumeActivity = "resume-activity"
	DoResumeGate     = "resume-gate"
	DoProbeGate      = "probe-gate"
)

// Steps returns what to do about a wait that does not soon end by itself, the safest first. The
// command and the dashboard show the same steps in their own ways.
func Steps(w *view.Wait) []Step {
	switch w.For {
	case view.WaitQuarantined:
		return quarantined(w)
	case view.WaitInDoubt:
		return []Step{
			{"ask", "ask the program again whether the attempt had its effect"}, {"skip", "it was done: complete the call with its result"},
			{"retry-now", "it was not done, or may be done twice: repeat it"}, {"fail", "give up"},
		}
	case view.WaitUnserved:
		return []Step{{"", "start a process that serves queue " + w.Queue + " and has " + w.Name}}
	case view.WaitDamaged:
		return []Step{{"", "give an engine the codec, key or blob that it lacks, or restore the record from a backup"}}
	case view.WaitParked:
		if w.Broken == view.BrokenCrashed {
			return []Step{{"", parked(w)}, {"resume-run", "try the same code again: it may end more processes"}}
		}
		return []Step{{"", parked(w)}}
	case view.WaitCode:
		if w.Build != "" {
			return []Step{{"", node(w.Needs, w.Build)}, {"move-runs", "let them continue with another build, which has to fit"}}
		}
		return []Step{{"", node(w.Needs, "")}}
	case view.WaitBuild:
		return []Step{{"", "keep a node of build " + w.Build + ", or start one, until they have ended"}, {"move-runs", "let them continue with another build, which has to fit"}}
	case view.WaitPaused:
		switch {
		case w.Call > 0 && w.By == "":
			return []Step{{"retry-now", "give it another attempt now"}, {"fail", "give up"}}
		case w.Call > 0:
			return []Step{{"resume", "continue with what is left of the backoff"}}
		}
		return []Step{{"resume-run", "continue"}}
	case view.WaitActivityPaused:
		return []Step{{DoResumeActivity, "let its attempts start again"}}
	case view.WaitGatePaused:
		return []Step{{DoResumeGate, "let attempts pass again"}}
	case view.WaitBreaker:
		return []Step{{DoProbeGate, "send one attempt through now; its success closes the breaker"}}
	case view.WaitBackoff:
		return []Step{{"retry-now", "start the next attempt now"}}
	}
	return nil
}

func quarantined(w *view.Wait) []Step {
	fail := Step{"fail", "give it up: its code gets the error"}
	skip := Step{"skip", "complete it with a result of your own"}
	if w.NoOtherBuild {
		return []Step{{"", "deploy another build: every live node has one on which it crashed"}, fail, skip}
	}
	if len(w.Crashes) == 0 {
		return []Step{{"", "find out why its process died, before another attempt"}, fail, skip}
	}
	return []Step{{"retry-now", "try it alone, on a build on which it has not crashed"}, fail, skip}
}

func parked(w *view.Wait) string {
	switch w.Broken {
	case view.BrokenPanicked:
		return "fix the code where it panicked, and deploy it: the stack is in the log and on the page of the workflow"
	case view.BrokenStuck:
		return "fix the code that never yields, deploy it and restart: the stack is in the log and on the page of the workflow"
	case view.BrokenCrashed:
		return "fix the code that ends its process, and deploy it"
	}
	if w.Needs != nil {
		return node(w.Needs, "")
	}
	return "start an engine whose code fits its history and does not fail in it"
}

// node says which node to start.
func node(n *view.NeededCode, build string) string {
	if n != nil {
		build = n.Build
	}
	if build == "" {
		return "start an engine that registers the workflow"
	}
	text := "start a node of build " + build
	if n != nil && n.Version != "" {
		text += " (version " + n.Version + " of the workflow)"
	}
	switch {
	case n == nil || n.Node == "":
		return text + ", which no node is remembered to have had"
	case n.Live:
		return text + ", as " + n.Node + " is"
	}
	return text + ", seen last on " + n.Node
}

// Crashed says how often a call crashed its process, where and when last: "crashed its process
// twice: on a (build 1) and b (build 2), last 3m ago".
func Crashed(crashes []view.Crash, last *time.Time, now time.Time) string {
	if len(crashes) == 0 {
		return "was lost with its process"
	}
	text := "crashed its process "
	switch n := len(crashes); n {
	case 1:
		text += "once"
	case 2:
		text += "twice"
	default:
		text += fmt.Sprintf("%d times", n)
	}
	var on []string
	for _, c := range crashes {
		where := c.Node
		if c.Build != "" {
			where += " (build " + c.Build + ")"
		}
		if !slices.Contains(on, where) {
			on = append(on, where)
		}
	}
	if n := len(on); n > 4 {
		on = append(on[:3], human.Count(n-3)+" others")
	}
	text += ", on " + strings.Join(on, ", ")
	if last != nil {
		text += ", last " + human.Ago(*last, now)
	}
	return text
}
