// Package seal marks the definitions that an engine can run and holds what engines read of
// them. Only types of this module embed a [Definition], so an interface that embeds
// [Sealed] has no other implementations.
package seal
