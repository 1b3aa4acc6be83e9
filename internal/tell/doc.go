// Package tell carries signals, queries and updates from their declarations in package
// workflow to the engine that a handle belongs to.
//
// Package workflow cannot refer to perdure.Handle, which is above it. Handles therefore
// embed a [Target]. Its method is not exported: users only see that Signal.Send, Query.Ask
// and Update.Call accept handles, and no other type can be one.
package tell
