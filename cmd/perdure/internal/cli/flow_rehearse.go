package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/rehearsal"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// casesEnding is the extension of the file with the cases of a flow file.
const casesEnding = ".test.json"

func flowTestCommand(scr *screen) *cobra.Command {
	var actions flowActions
	cmd := &cobra.Command{
		Use:   "test FILE...",
		Short: "Test flow files against the cases beside them",
		Long: `Test flow files in virtual time and with mocked actions: nothing is sent or stored, and a
year takes milliseconds. The cases of nightly.flow stand in
nightly.test.json; the exit code is 1 if one of them fails. The form is described in
docs/flow.md.`,
		Example: `  perdure flow test nightly.flow
  perdure flow test *.flow --action charge,refund`,
		Annotations: withoutDatabase,
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := actions.known()
			if err != nil {
				return err
			}
			return flowTest(scr, args, known)
		},
	}
	actions.others(cmd)
	return cmd
}

// rehearsed reads a flow file and its cases.
func rehearsed(scr *screen, path string, known check.Actions) (*syntax.File, []*rehearsal.Case, error) {
	text, err := readFlow(scr, path)
	if err != nil {
		return nil, nil, err
	}
	file, err := check.Text(path, text, known)
	faults, other := faultsOf(err)
	if other != nil {
		return nil, nil, other
	}
	for _, f := range faults {
		if f.Code != syntax.CodeOff { // mocks need no flags
			return nil, nil, failure(exitError, "See all faults: perdure flow check "+human.ShellWord(path), "%s", faults.Error())
		}
	}
	beside := strings.TrimSuffix(path, view.FlowEnding) + casesEnding
	data, err := os.ReadFile(beside)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, usage(`Write one: {"cases": [{"name": "all is well", "actions": {"http.get": [{"returns": {"json": []}}]}, "expect": {"result": 1}}]}`, "There is no file %q with the cases of %s.", beside, path)
	}
	if err != nil {
		return nil, nil, flowFileError(beside, err)
	}
	cases, err := rehearsal.Cases(data)
	if err != nil {
		return nil, nil, failure(exitError, "Write it as a test file "+see.FlowTests+".", "%s: %s", beside, human.Sentence(err.Error()))
	}
	return file, cases, nil
}

func flowTest(scr *screen, paths []string, known check.Actions) error {
	failed, all := 0, 0
	var unread []error
	for _, path := range paths {
		file, cases, err := rehearsed(scr, path, known)
		if err != nil && len(paths) > 1 {
			unread = append(unread, err)
			scr.printf("%s  %s: %s\n", term.Painted{Text: "failed", Colour: term.Bad}, path, firstLineOf(err))
			continue
		}
		if err != nil {
			return err
		}
		for _, c := range cases {
			all++
			var faults []string
			if outcome, err := rehearsal.Run(file, c, nil); err != nil {
				faults = []string{err.Error()}
			} else {
				faults = c.Faults(outcome)
			}
			if len(faults) == 0 {
				scr.printf("%s  %s: %s\n", term.Painted{Text: "ok", Colour: term.Good}, path, c.Name)
				continue
			}
			failed++
			scr.printf("%s  %s: %s\n", term.Painted{Text: "failed", Colour: term.Bad}, path, c.Name)
			for _, fault := range faults {
				scr.printf("    %s\n", fault)
			}
		}
	}
	if len(unread) > 0 {
		return failure(exitError, "See why: perdure flow test FILE, with one of them.",
			"%s could not be tested, and %d of %s failed.", human.Plural(len(unread), "file", "files"), failed, human.Plural(all, "case", "cases"))
	}
	if failed > 0 {
		return failure(exitError, "See what one does, step by step: perdure flow run FILE --fast-forward --case NAME", "%d of %s failed.", failed, human.Plural(all, "case", "cases"))
	}
	return nil
}

// firstLineOf is what an error is about.
func firstLineOf(err error) string {
	text := err.Error()
	if shown, is := errors.AsType[*Error](err); is {
		text = shown.What
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// flowForward shows a case of a file in virtual time.
func flowForward(scr *screen, path, name string, known check.Actions) error {
	file, cases, err := rehearsed(scr, path, known)
	if err != nil {
		return err
	}
	chosen := slices.IndexFunc(cases, func(c *rehearsal.Case) bool { return name == "" || c.Name == name })
	if chosen < 0 {
		var names []string
		for _, c := range cases {
			names = append(names, fmt.Sprintf("%q", c.Name))
		}
		return usage("The cases are "+strings.Join(names, ", ")+".", "There is no case %q.", name)
	}
	outcome, err := rehearsal.Run(file, cases[chosen], func(at time.Duration, what string) {
		scr.notef("%s  %s\n", term.Painted{Text: fmt.Sprintf("%9s", human.Duration(at)), Colour: term.Faint}, what)
	})
	if err != nil {
		return failure(exitError, "Nothing was run: the actions were mocked, in virtual time.", "%s", human.Sentence(err.Error()))
	}
	scr.notef("%s  ended, with mocked actions and in virtual time\n", term.Painted{Text: fmt.Sprintf("%9s", human.Duration(outcome.Took)), Colour: term.Faint})
	if outcome.Err != nil {
		return failure(exitRunFailed, "", "%s", human.Sentence(outcome.Err.Error()))
	}
	result, err := eval.Encode(outcome.Result)
	if err != nil {
		return err
	}
	scr.printf("%s\n", result)
	return nil
}
