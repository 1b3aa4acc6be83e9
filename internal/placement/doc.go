// Package placement decides where a run goes on: at the node that owns its partition (its
// home), or at another node of the group, in a ward of that partition (see store.Move).
//
// Locations are the partitions and wards that this node serves; reading them takes no lock.
// Nodes knows the live nodes with the definitions of their programs, and chooses one: for a run
// whose code is missing or does not fit at home, and for a run that begins while a canary is in
// force. The owner of the run's location moves it; the engine does that between two of its
// turns. Lineage keeps which nodes owned a location before, and what became of them.
//
// Switches are what the group has paused, or keeps for a canary. The locks come after those of the engine.
package placement
