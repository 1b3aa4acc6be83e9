package perduretest

import (
	"bytes"
	"regexp"
	"runtime"
	"testing/synctest"
	"time"
)

// respite is how long, in virtual time, goroutines may take to end after the
// engine has: bodies that look at their context late.
const respite = time.Hour

// leftover returns the stacks of the bubble's other goroutines that do not end.
func leftover() string {
	synctest.Wait()
	if len(others()) == 0 {
		return ""
	}
	time.Sleep(respite)
	synctest.Wait()
	return string(bytes.Join(others(), []byte("\n\n")))
}

// bubbleName finds the bubble in the first line of a goroutine's stack.
var bubbleName = regexp.MustCompile(`^goroutine .*(synctest bubble \d+)[\],]`)

// frames of the goroutines by which package testing holds a bubble.
var scaffold = [][]byte{[]byte("internal/synctest.Run("), []byte("testingSynctestTest(")}

// others returns the stacks of the goroutines in the bubble of the caller, which
// is not among them.
func others() [][]byte {
	stacks := bytes.Split(allStacks(), []byte("\n\n"))
	mine := bubbleName.FindSubmatch(stacks[0]) // the caller's own comes first
	if mine == nil {
		return nil
	}
	var found [][]byte
	for _, s := range stacks[1:] {
		name := bubbleName.FindSubmatch(s)
		if name == nil || !bytes.Equal(name[1], mine[1]) {
			continue
		}
		holds := false
		for _, f := range scaffold {
			holds = holds || bytes.Contains(s, f)
		}
		if !holds {
			found = append(found, bytes.TrimSpace(s))
		}
	}
	return found
}

func allStacks() []byte {
	for size := 64 << 10; ; size *= 2 {
		buffer := make([]byte, size)
		if n := runtime.Stack(buffer, true); n < size {
			return buffer[:n]
		}
	}
}
