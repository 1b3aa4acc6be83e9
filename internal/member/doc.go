// Package member makes a process a node of its group: it keeps the node's lease, and
// claims and hands over partitions so that each live node has an even share.
//
// # Lease
//
// A node shows that it is alive by renewing one row (lease.go). Its lease runs from when it
// sent the last renewal that succeeded. Other nodes take over its partitions when they have
// seen no renewal for the length of a lease, so the node itself relies on its lease for a
// fifth less (Holds). Writes are fenced by epochs anyway; Holds protects what is not a write,
// above all the start of attempts. A lease that has expired can be renewed; the node then
// still owns what no other node took.
//
// # Share
//
// Each renewal returns the live nodes and the owner of each partition. From these every node
// computes the same shares (spread.go). It claims its part of the free partitions and hands
// over what exceeds its share (attend.go, handover.go). A node that drains hands over
// everything.
//
// # Holder
//
// A node's Holder, the engine, works on its partitions. The Member tells it which partitions
// were Taken and Lost, and asks which it serves. Before a Member releases a partition, the
// holder closes it, and drops it when nothing of it is at work.
//
// The holder knows which partitions are served. A Member keeps no list of its own, only marks
// of those that are moving to another node. A Member calls its holder without holding a lock,
// so the holder may call the Member with its own lock held.
//
// # Decisions
//
//   - After an outage of the database an expired lease can be renewed if no other node has
//     claimed anything. Otherwise every outage would be charged to attempts. Nodes wait a
//     little before they claim what others left, so an outage moves nothing.
//   - A name is an identity. A node started with perdure.NodeName supersedes an earlier node
//     of that name immediately, so a supervised restart does not wait for its own lease. Two
//     copies of one process (a restored snapshot) detect each other by the random numbers of
//     their renewals; one continues under a new ID.
package member
