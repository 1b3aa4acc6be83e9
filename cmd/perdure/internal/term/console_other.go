//go:build (!unix && !windows) || aix

package term

import "os"

func understands(*os.File) bool { return false }

func width(*os.File) int { return 0 }

// IsBrokenPipe reports whether a write failed because the reader is gone.
func IsBrokenPipe(error) bool { return false }
