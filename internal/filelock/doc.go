// Package filelock locks files against other processes, as the system has it. A lock
// ends with the process that holds it, however that ends, or when its file is closed.
// Where there are none the error is errors.ErrUnsupported. A process that is being forked
// holds the files of its parent for a moment, so whoever is done calls Unlock first.
package filelock
