//go:build !cgo

package drivers

import "github.com/perdure/perdure/bench/internal/system"

// withC is nothing without a C compiler.
func withC() []system.System { return nil }
