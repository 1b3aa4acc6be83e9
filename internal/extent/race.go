//go:build race

package extent

const race = true
