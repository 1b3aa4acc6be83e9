// Package seal marks the definitions that an engine can run. Only types of this module
// embed [Definition], so an interface that embeds [Sealed] has no other implementations.
package seal
