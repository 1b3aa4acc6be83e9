// Package near finds the names that were meant by one that is written wrong: those that
// differ from it in one letter or two.
package near
