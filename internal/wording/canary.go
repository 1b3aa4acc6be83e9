package wording

import (
	"fmt"
	"strconv"

	"github.com/perdure/perdure/view"
)

// Canary says at nodes of which build runs begin.
func Canary(c *view.Canary) string {
	switch {
	case c.Ended:
		return "New workflows begin on whichever build is at the node to which their IDs lead."
	case c.Percent == 0:
		return fmt.Sprintf("No new workflow begins on build %s while another build is live.", c.Build)
	case c.Percent == 100:
		return fmt.Sprintf("All new workflows begin on build %s while it is live.", c.Build)
	}
	return fmt.Sprintf("%s %% of new workflows begin on build %s, the others on other builds.", strconv.FormatFloat(c.Percent, 'f', -1, 64), c.Build)
}
