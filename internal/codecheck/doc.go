// Package codecheck tells which open runs could not continue with the code of a process, before it
// serves any: it replays what is on record and compares. It owns nothing and writes nothing.
package codecheck
