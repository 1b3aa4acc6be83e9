package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// One word names one thing in all commands: --type is the type of workflows, --activity
// the name of an activity or step, --error-type the type of an error, and --error its
// text.

// errorType is the flag that selects by the type of an error.
const errorType = "error-type"

// formerly lets a flag of a command be given by an earlier name, too, which no help shows.
func formerly(cmd *cobra.Command, earlier, name string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == earlier {
			given = name
		}
		return pflag.NormalizedName(given)
	})
}
