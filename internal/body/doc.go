// Package body is what an engine sees of an activity: its declaration with its options,
// and how a running body reaches the engine.
//
// activity.Activity embeds a [Definition], whose method is not exported. So users see a
// declaration that has a name and can be given a body, and only this module reaches the
// rest.
package body
