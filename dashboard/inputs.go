package dashboard

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/web"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
)

// entry is a field of a form: a parameter of a command.
type entry struct {
	Name, Label, Hint, Value    string
	Long, Needed, Number, Check bool
	Hidden                      bool
	Choices                     []command.Choice
}

// inputs returns the fields of the form of a command. They show what was entered, if entered has
// it, and else the parameters.
func inputs(c *command.Command, form *command.Form, params any, entered url.Values) (all []entry) {
	for _, p := range c.Takes() {
		if p.NoForm || slices.Contains(form.Without, p.Flag) {
			continue
		}
		in := entry{
			Name: p.Flag, Label: cmp.Or(form.Labels[p.Flag], p.Label), Hint: cmp.Or(form.Hints[p.Flag], p.Hint), Value: p.Text(params), Long: p.Long, Number: p.Number(), Check: p.Check(), Hidden: p.Hidden,
			Needed: p.Need != "" || p.Default != "", Choices: form.Choices[p.Flag],
		}
		if entered != nil {
			in.Value = typed(entered, p.Flag)
		}
		all = append(all, in)
	}
	return all
}

// typed is what a person typed into a field. Browsers end lines with CR and LF.
func typed(entered url.Values, name string) string {
	return strings.TrimSpace(strings.ReplaceAll(entered.Get(name), "\r\n", "\n"))
}

// enter reads parameters from what was entered into a form that showed others. What is as it was
// shown is left out where that means something else than naming it.
func enter(c *command.Command, params, shown any, entered url.Values) error {
	if entered == nil {
		return nil
	}
	for _, p := range c.Takes() {
		text := typed(entered, p.Flag)
		unsent := p.Check() && text == "" // a box that is not ticked
		if p.NoForm || !entered.Has(p.Flag) && !unsent {
			continue
		}
		asShown := text == p.Text(shown)
		if c.Makes != "" { // it is set as a whole
			asShown = text == ""
		}
		if p.Optional() && p.Need == "" && asShown {
			continue
		}
		for line := range p.Lines(text) {
			if err := p.Set(params, strings.TrimSpace(line)); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrongInput says what is wrong with what a person entered, by the names of the form; nil if it is
// something else.
func wrongInput(c *command.Command, err error) error {
	if spec, ok := errors.AsType[*schedule.SpecError](err); ok {
		label := param.Field(c.Params, spec.Field).Label
		return &wrongField{"The " + strings.ToLower(label[:1]) + label[1:] + " " + spec.Problem + "."}
	}
	if changed, ok := errors.AsType[*view.ChangedError](err); ok {
		return &wrongField{human.Sentence(changed.Error())}
	}
	if notation, ok := errors.AsType[*retry.NotationError](err); ok {
		return &wrongField{notation.Error()}
	}
	w, ok := errors.AsType[*param.Wrong](err)
	if !ok {
		return nil
	}
	name := "The " + strings.ReplaceAll(w.Param, "_", " ")
	if strings.Contains(w.Param, " or ") {
		name, w = "", param.Bad("", w.Remedy, "Nothing is chosen")
	} else if p := param.Find(c.Params, w.Param); p != nil {
		name = "The " + strings.ReplaceAll(p.Flag, "-", " ")
	}
	text := strings.TrimSpace(name+" "+w.Problem) + ". "
	if w.Remedy != "" {
		text += human.Sentence(w.Remedy)
	}
	return &wrongField{strings.TrimSpace(text)}
}

// entered reports whether an error is about what a person entered, and names it by the form.
func entered(c *command.Command, err *error) bool {
	if wrong := wrongInput(c, *err); wrong != nil {
		*err = wrong
		return true
	}
	return web.Is[*view.InputError](*err) || web.Is[*wrongField](*err)
}

// wrongField is a field of a form with an invalid value.
type wrongField struct{ text string }

func (w *wrongField) Error() string { return w.text }
