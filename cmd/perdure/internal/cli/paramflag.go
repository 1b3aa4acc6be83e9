package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/param"
	"github.com/spf13/cobra"
)

// addParams makes fields of a struct flags of a command. What the help says of each begins with
// only, if that is not empty.
func addParams(scr *screen, cmd *cobra.Command, of any, only string) {
	for _, p := range param.Of(reflect.TypeOf(of).Elem()) {
		if p.Arg != "" || p.Flag == "-" || p.Flag == "" {
			continue
		}
		flag := cmd.Flags().VarPF(&paramFlag{Param: p, of: of, read: scr.textValue}, p.Flag, "", only+strings.NewReplacer("{", "`", "}", "`").Replace(p.Help))
		if flag.DefValue = ""; p.Check() {
			flag.NoOptDefVal = "true"
		}
		if flag.DefValue = p.Default; p.Enum != nil {
			_ = cmd.RegisterFlagCompletionFunc(p.Flag, cobra.FixedCompletions(p.Enum, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// paramFlag makes a field of a struct a flag.
type paramFlag struct {
	param.Param
	of    any
	read  func(what, text string) (string, error) // "-" is standard input
	given bool
}

// Set implements the flag. A flag of several values adds those of each use.
func (f *paramFlag) Set(text string) error {
	if text == "" && f.Flag != "reason" {
		return param.Bad(f.Flag, "leave it out, or give it a value", "is empty")
	}
	if _, isJSON := reflect.Zero(f.Param.Type()).Interface().(json.RawMessage); isJSON || f.Name == "policy" {
		read, err := f.read(f.Flag, text)
		if err != nil {
			return err
		}
		text = read
	}
	if f.Param.Type().Kind() == reflect.Slice && f.given && f.Type() == "stringSlice" {
		text = f.Text(f.of) + "," + text
	}
	f.given = true
	return f.Param.Set(f.of, text)
}

func (f *paramFlag) String() string {
	if f.of == nil {
		return ""
	}
	return f.Text(f.of)
}

// Type returns the name of the value in the help.
func (f *paramFlag) Type() string {
	switch t := f.Param.Type(); t {
	case reflect.TypeFor[time.Duration](), reflect.TypeFor[param.Span]():
		return "duration"
	case reflect.TypeFor[[]string]():
		return "stringSlice"
	case reflect.TypeFor[param.Pairs]():
		return "stringArray"
	case reflect.TypeFor[param.Age]():
		return "string"
	default:
		if k := t.Kind(); k == reflect.Bool || k == reflect.Int || k == reflect.Int64 || k == reflect.Float64 {
			return k.String()
		}
	}
	return "string"
}

// flagsOf are the names of the flags that fields of a struct are.
func flagsOf(of any) (names []string) {
	for _, p := range param.Of(reflect.TypeOf(of)) {
		names = append(names, p.Flag)
	}
	return names
}
