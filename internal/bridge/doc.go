// Package bridge leads from the public engine to the one inside it, for packages of this
// module that offer more than the root package does: ops and perduretest.
//
// perdure.Engine embeds a [Door], and the method behind it is not exported. So its users
// neither see nor reach what is inside, while [Engine] is an ordinary typed call.
package bridge
