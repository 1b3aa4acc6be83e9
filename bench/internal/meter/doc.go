// Package meter reads what this process spends, and sums up measured times.
package meter
