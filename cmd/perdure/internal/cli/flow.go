package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/seal"
	"github.com/spf13/cobra"
)

func flowCommand(scr *screen, db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "flow",
		Short: "Run, check, test and format flow files: workflows in text",
		Example: `  perdure flow check nightly.flow
  perdure flow run nightly.flow`,
		Long: `Run, check and format flow files. A flow file is a workflow in text: what it calls
with @ are actions, and brackets after them say how they are retried.

  reply = @http.get(url="https://example.org/") [retry: 3, backoff: 60]
  @log(message=reply.status)

Kill it while it runs and run it again: it continues where it was.
The language is described in docs/flow.md; perdure flow help lists what files can call.`,
	}
	cmd.AddCommand(flowRunCommand(scr, db), flowServeCommand(scr, db), flowCheckCommand(scr), flowTestCommand(scr), flowFormatCommand(scr), flowHelpCommand(scr))
	return cmd
}

// flowActions are the flags that say which actions exist.
type flowActions struct {
	shell   bool
	files   string
	named   []string
	secrets []string
}

func (f *flowActions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.shell, "allow-shell", false, "allow @shell.run, which runs commands")
	cmd.Flags().StringVar(&f.files, "files", "", "`directory` for @file.read, @file.write and @http.download")
	cmd.Flags().StringSliceVar(&f.secrets, "secret", nil, "`name` of an environment variable that files may use by secret(); several with commas")
}

// others adds the flag for actions of other programs.
func (f *flowActions) others(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.named, "action", nil, "`name` of an action of the program that runs the file; several with commas")
}

// runtime returns the runtime for flow files.
func (f *flowActions) runtime(log func(string), more ...flow.Option) (*flow.Runtime, error) {
	options := append([]flow.Option{flow.Log(log)}, more...)
	if names := f.present(); len(names) > 0 {
		options = append(options, flow.Secrets(os.LookupEnv, names...))
	}
	if f.shell {
		options = append(options, flow.AllowShell())
	}
	if f.files != "" {
		if info, err := os.Stat(f.files); err != nil || !info.IsDir() {
			return nil, usage("Name a directory that exists: --files .", "--files is %q, which is not a directory.", f.files)
		}
		options = append(options, flow.Files(f.files))
	}
	for _, name := range f.named {
		options = append(options, flow.Actions(activity.Declare[map[string]any, any](name)))
	}
	r, err := flow.New(options...)
	if err != nil {
		return nil, usage("An action has a name such as charge or card.charge, and each is named once.", "%s", human.Sentence(err.Error()))
	}
	return r, nil
}

// present returns the names of the secrets that are allowed and in the environment.
func (f *flowActions) present() []string {
	return slices.DeleteFunc(slices.Clone(f.secrets), func(name string) bool {
		_, ok := os.LookupEnv(name)
		return !ok
	})
}

// allowed says in words what files may do in this process.
func (f *flowActions) allowed() string {
	var all []string
	if f.shell {
		all = append(all, "--allow-shell")
	}
	if f.files != "" {
		all = append(all, "--files "+flow.FilesOf(f.files))
	}
	for _, name := range f.present() {
		all = append(all, "--secret "+name)
	}
	if len(all) == 0 {
		return "without commands of the shell, files and secrets"
	}
	return "with " + strings.Join(all, " ")
}

// known returns the actions that a file may call.
func (f *flowActions) known() (check.Actions, error) {
	r, err := f.runtime(func(string) {})
	if err != nil {
		return nil, err
	}
	return *seal.Of(r), nil
}

// readFlow reads a flow file, or standard input for -.
func readFlow(scr *screen, path string) (text string, err error) {
	in := scr.env.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", flowFileError(path, err)
		}
		defer file.Close()
		in = file
	}
	// One byte more than the limit shows that the file is too long.
	data, err := io.ReadAll(io.LimitReader(in, syntax.MaxSize+1))
	if err != nil {
		return "", flowFileError(path, err)
	}
	return string(data), nil
}

func flowFileError(path string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return usage("Name a file that exists.", "There is no file %q.", path)
	}
	return failure(exitError, "", "The file %q cannot be read: %v.", path, err)
}

// faultsOf returns the faults of a file, or none if the error is another one.
func faultsOf(err error) (syntax.Diagnostics, error) {
	if faults, ok := errors.AsType[syntax.Diagnostics](err); ok {
		return faults, nil
	}
	return nil, err
}

// flowReport has the faults of some files, for programs.
type flowReport struct {
	OK     bool               `json:"ok"`
	Files  []string           `json:"files"`
	Faults syntax.Diagnostics `json:"faults"`
	Needs  []string           `json:"needs,omitempty"` // flags that the files require
	Notes  []string           `json:"notes,omitempty"` // what is no fault and may become one
}

func flowCheckCommand(scr *screen) *cobra.Command {
	var actions flowActions
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Report all faults of flow files",
		Long: `Report all faults of flow files: errors in their text, and code that cannot work or is
never reached. With - the text is read from standard input. Nothing is run. The exit code
is 1 if there are faults. Actions that a flag must allow are not faults: the command names
the flags that the files need to run.

Name the actions of your own programs, which this command does not know, with --action.
With -o json the faults are one document.`,
		Example: `  perdure flow check nightly.flow
  perdure flow check *.flow --action charge,refund
  perdure flow check nightly.flow -o json`,
		Annotations: withoutDatabase,
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := actions.known()
			if err != nil {
				return err
			}
			return flowCheck(scr, args, known)
		},
	}
	actions.flags(cmd)
	actions.others(cmd)
	return cmd
}

// withoutDatabase annotates commands that only read files.
var withoutDatabase = map[string]string{noDatabase: "It reads files only.", noGroup: "It reads files only."}

func flowCheck(scr *screen, paths []string, known check.Actions) error {
	report := flowReport{Files: paths, Faults: syntax.Diagnostics{}}
	for _, path := range paths {
		text, err := readFlow(scr, path)
		if err != nil {
			return err
		}
		file, err := check.Text(path, text, known)
		faults, err := faultsOf(err)
		if err != nil {
			return err
		}
		if file != nil {
			for _, name := range syntax.Secrets(file) {
				if flag := "--secret " + name; !slices.Contains(report.Needs, flag) {
					report.Needs = append(report.Needs, flag)
				}
			}
			for _, line := range syntax.Gathered(file) {
				report.Notes = append(report.Notes, fmt.Sprintf("%s:%d: the spread keeps the whole answer of each request, and a list has at most %d bytes. To keep less, let it call a function that returns what is needed.", path, line, eval.MaxValue))
			}
		}
		for _, f := range faults {
			if f.Code != syntax.CodeOff {
				report.Faults = append(report.Faults, f)
			} else if flag := flagOf(f.Hint); !slices.Contains(report.Needs, flag) {
				report.Needs = append(report.Needs, flag)
			}
		}
	}
	report.OK = len(report.Faults) == 0
	err := scr.show(report, func() {
		if faults(scr, report.Faults); !report.OK {
			return
		}
		scr.printf("%s: no faults.\n", strings.Join(paths, ", "))
		if len(report.Needs) > 0 {
			scr.printf("To run, it needs %s.\n", strings.Join(report.Needs, " and "))
		}
		scr.lines("", "", report.Notes)
	})
	if err == nil && !report.OK {
		err = &Error{Code: exitError, What: "There are faults.", Silent: true}
	}
	return err
}

// flagOf returns the last flag in a hint, with its value.
func flagOf(hint string) string {
	return strings.TrimSuffix(hint[strings.LastIndex(hint, "--"):], ".")
}

// faults prints faults for people.
func faults(scr *screen, all syntax.Diagnostics) {
	for i, f := range all {
		if i > 0 {
			scr.printf("\n")
		}
		for line := range strings.SplitSeq(f.String(), "\n") {
			scr.printf("%s\n", line)
		}
	}
	if len(all) > 0 {
		scr.printf("\n%s.\n", term.Painted{Text: human.Plural(len(all), "fault", "faults"), Colour: term.Bad})
	}
}

func flowFormatCommand(scr *screen) *cobra.Command {
	var write, differ bool
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Format flow files",
		Long: `Format flow files: write their canonical form, which keeps comments and meaning, to
standard output. With --write replace the files. With --check name the files that would
change; the exit code is 1 if there are any. With - the text is read from standard input.`,
		Example: `  perdure flow fmt nightly.flow
  perdure flow fmt --write *.flow
  perdure flow fmt --check *.flow`,
		Annotations: withoutDatabase,
		RunE: func(_ *cobra.Command, args []string) error {
			if write && slices.Contains(args, "-") {
				return usage("Leave --write out.", "Standard input cannot be written to.")
			}
			return flowFormat(scr, args, write, differ)
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "replace the files")
	cmd.Flags().BoolVar(&differ, "check", false, "name the files that are not formatted")
	cmd.MarkFlagsMutuallyExclusive("write", "check")
	return cmd
}

func flowFormat(scr *screen, paths []string, write, differ bool) error {
	different := 0
	for _, path := range paths {
		text, err := readFlow(scr, path)
		if err != nil {
			return err
		}
		file, err := syntax.Parse(path, text)
		if faults, other := faultsOf(err); err != nil {
			if other != nil {
				return other
			}
			return failure(exitError, "See all faults: perdure flow check "+human.ShellWord(path), "The text is not a flow file.\n%s", faults.Error())
		}
		formatted := syntax.Format(file)
		if formatted != text {
			different++
		}
		switch {
		case differ && formatted != text:
			scr.printf("%s\n", path)
		case differ:
		case !write:
			scr.text(formatted)
		case formatted != text:
			if err := replaceFlow(path, formatted); err != nil {
				return err
			}
			scr.printf("%s\n", path)
		}
	}
	if differ && different > 0 {
		return &Error{Code: exitError, What: "Some files are not formatted.", Silent: true}
	}
	return nil
}

// replaceFlow writes a temporary file next to the old one and renames it, so that the file
// is never missing or half written.
func replaceFlow(path, text string) error {
	if len(text) > syntax.MaxSize {
		return failure(exitError, "Split the file.", "Formatted, %q is longer than a flow file may be.", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return flowFileError(path, err)
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".flow-*")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name())
	_, err = beside.WriteString(text)
	if err = errors.Join(err, beside.Chmod(info.Mode().Perm()), beside.Close()); err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}
