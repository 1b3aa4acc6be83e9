// Package tell carries signals, queries and updates from their declarations in package
// workflow to the engine that a handle belongs to.
//
// Package workflow cannot name a perdure.Handle, which is above it. So handles embed a
// [Target]. The method that makes them one is not exported: users see only that a handle
// can be given to Signal.Send, Query.Ask and Update.Call, and no other type can.
package tell
