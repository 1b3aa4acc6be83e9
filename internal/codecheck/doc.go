// Package codecheck replays runs beside those in memory: it tells which open runs could not continue
// with the code of a process, whether code repeats itself, and asks the code of runs that have ended.
// It owns nothing and writes nothing.
package codecheck
