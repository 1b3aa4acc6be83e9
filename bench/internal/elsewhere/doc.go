// Package elsewhere holds the code of other systems that docs/coming-from.md shows against
// their modules. They are required here and not compiled: a test type-checks their
// declarations from source, which takes seconds where building them takes minutes.
package elsewhere
