package cli

import (
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// A flag means the same in all commands: --type is the type of workflows, --activity the
// name of an activity or step, --error-type the type of an error, and --error its text.

// errorType is the flag that selects by error type.
const errorType = "error-type"

// number adds a flag with a whole number between bounds; its default is what n is. The remedy says
// which numbers can be used.
func number(flags *pflag.FlagSet, n *int, name string, least, most int, remedy, usage string) {
	flags.Var(&numberFlag{n, name, least, most, remedy}, name, usage)
}

// limited adds the flag that limits a list, 0 for all.
func limited(flags *pflag.FlagSet, n *int, usage string) {
	number(flags, n, "limit", 0, math.MaxInt32, "Use a number from 1, or 0 for all.", usage)
}

// numberFlag is a flag with a whole number between bounds.
type numberFlag struct {
	n           *int
	name        string
	least, most int
	remedy      string
}

// Set implements the flag.
func (f *numberFlag) Set(text string) (err error) {
	if *f.n, err = strconv.Atoi(text); err == nil && (*f.n < f.least || *f.n > f.most) {
		return usage(f.remedy, "--%s is %d.", f.name, *f.n)
	}
	return err
}

func (f *numberFlag) String() string {
	if f.n == nil {
		return "0"
	}
	return strconv.Itoa(*f.n)
}

// Type returns the name of the value in the help.
func (f *numberFlag) Type() string { return "int" }
