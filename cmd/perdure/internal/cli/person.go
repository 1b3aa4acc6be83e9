package cli

import (
	"os/user"

	"github.com/spf13/cobra"
)

// person is who does something, and why.
type person struct{ by, why string }

func (p *person) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.by, "by", "", "`who` does it (default $PERDURE_BY, else the user of the operating system)")
	cmd.Flags().StringVar(&p.why, "reason", "", "`why`, for whoever looks at it later")
}

// user is who calls the command, for those who look at it later.
func (a *app) user(p person) string {
	if p.by != "" {
		return p.by
	}
	if by := a.env.Getenv("PERDURE_BY"); by != "" {
		return by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}

// personOf is who did something and why, at the end of a line. It must be escaped.
func personOf(by, why string) (text string) {
	if by != "" {
		text += " by " + by
	}
	if why != "" {
		text += ": " + why
	}
	return text
}
