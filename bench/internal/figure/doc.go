// Package figure writes numbers as people read them.
package figure
