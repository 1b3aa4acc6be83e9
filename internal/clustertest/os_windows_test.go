package clustertest

// stop and proceed are for systems on which the server runs, too.
func (n *node) stop()    { n.t.Fatal("there is no way to stop a process and let it go on") }
func (n *node) proceed() { n.t.Fatal("there is no way to stop a process and let it go on") }
