package cli

import "github.com/spf13/pflag"

// inputFlag adds the flag that gives the input, where an argument may, too. What it returns
// is the input of the flag, or else of the arguments.
func inputFlag(flags *pflag.FlagSet) func(argument string, given bool) (string, error) {
	text := flags.String("input", "", "the input as `JSON`, or - for standard input; the last argument may be it, too")
	return func(argument string, given bool) (string, error) {
		switch {
		case !flags.Changed("input"):
			return argument, nil
		case given:
			return "", usage("Give it once: as the last argument, or by --input.", "There are two inputs.")
		}
		return *text, nil
	}
}
