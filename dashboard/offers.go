package dashboard

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
)

func operationNamed(name string) (*command.Command, error) {
	if c := command.Named(command.Operations(), name); c != nil {
		return c, nil
	}
	return nil, &badRequest{fmt.Sprintf("There is no operation %q.", name), "Choose one on the page of a run, or below the list of runs."}
}

// button leads to the form of a command.
type button struct {
	Label, Class string
	Says         string // the label with its object, for readers who do not see its position
	Link         template.URL
}

// buttonOf returns the button of a command; what follows its label says what it is done to.
func buttonOf(c *command.Command, says string, to template.URL) button {
	return button{Label: c.Label, Class: classOf(c), Says: c.Label + says, Link: to}
}

// classOf is the style of a button that does a command or leads to it.
func classOf(c *command.Command) string {
	if c.Danger {
		return "danger"
	}
	return ""
}

// changeButtons returns the buttons of commands that are no operations.
func changeButtons(on command.On, name string, all ...string) (out []button) {
	says := " " + string(on) + " " + name
	if name == "" {
		says = "" // the label has it
	}
	for _, one := range all {
		out = append(out, buttonOf(command.Find(on, one), says, link("change", "kind", string(on), "do", one, "name", name)))
	}
	return out
}

// operateLink returns a link to the form of an operation on one run or call.
func operateLink(c *command.Command, id string, call int64) template.URL {
	number := ""
	if call > 0 {
		number = strconv.FormatInt(call, 10)
	}
	return link("operate", "op", c.Name, "id", id, "number", number)
}

// buttons returns the operations of a call or run that make sense in its state.
func buttons(id string, call int64, says string, names ...string) (out []button) {
	for _, name := range names {
		c, err := operationNamed(name)
		if err != nil {
			panic(err)
		}
		out = append(out, buttonOf(c, says, operateLink(c, id, call)))
	}
	return out
}

// callButtons returns the buttons of a call.
func callButtons(id string, c *view.Call) []button {
	says := fmt.Sprintf(", call %d, %s", c.Call, c.Name)
	switch c.State {
	case view.CallBackoff:
		if c.Kind == "block" {
			return buttons(id, c.Call, says, "retry-now", "edit-policy")
		}
		return buttons(id, c.Call, says, "retry-now", "pause", "skip", "fail", "edit-policy")
	case view.CallQuarantined: // the safest first
		return buttons(id, c.Call, says, "fail", "skip", "retry-now")
	case view.CallInDoubt:
		return buttons(id, c.Call, says, "ask", "skip", "retry-now", "fail")
	case view.CallPaused:
		return buttons(id, c.Call, says, "retry-now", "resume", "skip", "fail", "edit-policy")
	case view.CallRunning, view.CallQueued, view.CallOffered, view.CallGated, view.CallExternal:
		if c.Paused != nil {
			return buttons(id, c.Call, says, "resume", "skip", "fail", "edit-policy")
		}
		return buttons(id, c.Call, says, "pause", "skip", "fail", "edit-policy")
	}
	return nil
}

// activityButton leads to the form that pauses the activity of a call on all nodes, or resumes
// it.
func activityButton(c *view.Call) []button {
	if c.Kind != "activity" {
		return nil
	}
	do := "pause"
	if c.ActivityPaused != nil {
		do = "resume"
	}
	all := changeButtons(command.Activity, c.Name, do)
	all[0].Label += " activity"
	return all
}

// runButtons returns the buttons of a run.
func runButtons(d *view.Description) []button {
	names, others := []string{"pause-run", "signal", "reset", "cancel", "terminate"}, []string{"fork", "query", "update"}
	switch {
	case d.Closed != nil && d.Next == "":
		names, others = []string{"reset"}, []string{"fork", "query"}
	case d.Closed != nil:
		return nil
	case d.Paused != nil:
		names[0] = "resume-run"
	}
	if d.Build != "" && d.Closed == nil {
		names = append(names, "move-runs")
	}
	return append(append(buttons(d.WorkflowID, 0, "", names...), changeButtons(command.Runs, d.WorkflowID, others...)...), startLike(d))
}

// offered returns the operations that may apply to runs that a filter selects, with labels: only a
// reset does to runs that have ended.
func offered(f runFilter) (all [][2]string) {
	isOpen := func(s string) bool { return slices.Contains(wording.OpenStatuses, s) }
	for _, c := range command.Operations() {
		if len(f.Status) > 0 && !slices.ContainsFunc(f.Status, isOpen) && c.Name != "reset" {
			continue
		}
		label := c.Label
		if c.OnCalls() {
			label += " calls"
		}
		all = append(all, [2]string{c.Name, label})
	}
	return all
}

// bulkLinks returns links to the forms of the operations on all runs that a filter selects.
func bulkLinks(f runFilter) (out []linked) {
	for _, op := range offered(f) {
		v := f.query()
		v.Set("op", op[0])
		v.Set("all", "yes")
		out = append(out, linked{op[1], linkTo("operate", v)})
	}
	return out
}
