package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flag means the same in all commands: --type is the type of workflows, --activity the
// name of an activity or step, --error-type the type of an error, and --error its text.

// errorType is the flag that selects by error type.
const errorType = "error-type"

// formerly makes a command accept an earlier name of a flag, which the help does not show.
func formerly(cmd *cobra.Command, earlier, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == earlier {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}
