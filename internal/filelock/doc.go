// Package filelock locks files against other processes, as the system has it. A lock
// ends with the process that holds it, however that ends, or when its file is closed.
// Where there are none the error is errors.ErrUnsupported.
package filelock
