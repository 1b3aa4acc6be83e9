// Package member makes a process a node of its group: it keeps the node's lease, and
// takes and gives partitions so that each live node has an even share.
//
// # Lease
//
// A node shows that it lives by renewing one row (lease.go). Its lease runs from when it
// sent the last renewal that was answered. Others take its partitions over when they
// have not seen a renewal for the time of a lease; so the node relies on its lease for a
// fifth less (Holds). Writes are fenced by epochs anyway: Holds is for what is not a
// write, above all the start of attempts. A lease that expired can be renewed; the node
// then still owns what no other node took.
//
// # Share
//
// Each renewal returns who lives and who owns what. From that every node computes the
// same shares (spread.go), claims its part of the free partitions and hands over what it
// has too much of (attend.go, handover.go). A node that drains hands over everything.
//
// # Holder
//
// What a node does with its partitions is the business of its Holder, the engine. It is
// told of partitions that were Taken and Lost, and asked which it serves. Before a
// partition is released the holder closes it, and drops it when nothing of it is at work.
//
// The holder knows which partitions are served; a Member keeps no list of its own, only
// marks of those that are under way to another node. A Member calls its holder without
// holding a lock, so the holder may call a Member with its own lock held.
//
// # Decisions
//
//   - After an outage of the database an expired lease can be renewed if no other node
//     claimed anything. Nodes wait a little before they claim what others left, so an
//     outage moves nothing.
//   - A name is an identity. A node started with perdure.NodeName supersedes an earlier
//     one of that name immediately; a supervised restart does not wait for its own
//     lease. Two copies of one process (a restored snapshot) detect each other by the
//     random numbers of their renewals; one continues under a new ID.
//   - An expired lease can be renewed if no other node claimed anything. The other rule
//     would charge every outage to the work.
package member
