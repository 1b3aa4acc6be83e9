// Package typedtx lets functions that users write take the transaction of their
// database as the type it has there, where the engine only knows of an any.
package typedtx
