// Package bridge gives packages of this module that offer more than the root package, ops
// and perduretest, access to the engine inside the public one.
//
// perdure.Engine embeds a [Door], whose method is not exported. Users therefore neither see
// nor reach the engine inside, while [Engine] is an ordinary typed call.
package bridge
