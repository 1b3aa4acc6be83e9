package engine

import "github.com/perdure/perdure/view"

// Names of package view.
type (
	ControlRecord = view.ControlRecord
	BulkResult    = view.BulkResult
)
