// Package settings has what an engine is told when it is opened: its defaults, what is wrong with
// it, and the code of users that the engine calls (hooks.go).
package settings
