// Package program names the program that this process runs.
package program
