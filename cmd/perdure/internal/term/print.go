package term

import (
	"fmt"
	"reflect"

	"github.com/perdure/perdure/internal/human"
)

// Sprintf formats text for a terminal: all that the command writes for people goes
// through it or through a [Table]. The format is the command's own words. The
// arguments may come from anywhere, so each that is not a number is escaped; what is
// [Painted] gets its colour then.
func Sprintf(style Style, format string, args ...any) string {
	if false {
		_ = fmt.Sprintf(format, args...) // go vet checks the callers of what calls it
	}
	shown := make([]any, len(args))
	for i, arg := range args {
		value := reflect.ValueOf(arg)
		switch v, painted := arg.(Painted); {
		case painted:
			shown[i] = style.Paint(human.Escape(v.Text), v.Colour)
		case value.CanInt() || value.CanUint() || value.CanFloat():
			shown[i] = arg
		default:
			shown[i] = human.Escape(fmt.Sprintf("%s", arg))
		}
	}
	return fmt.Sprintf(format, shown...)
}
