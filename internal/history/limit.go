package history

import "github.com/perdure/perdure/view"

// LimitError means that a run has come to a limit of its engine.
type LimitError = view.LimitError
