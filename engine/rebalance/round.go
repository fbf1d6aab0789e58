package rebalance

// Mover carries out, or plans, what strategies propose.
type Mover interface {
	// Move has a candidate leave, and says whether it does. To is where it goes; nil: not known
	// (compatible mode), or nowhere (Cleanup).
	Move(strategy, profile string, c *Candidate) (to *Node, ok bool)
	// Save marks a point that Restore returns to: moves since then are withdrawn, so that several are made
	// together or not at all. False: the Mover cannot (evictions are not undone).
	Save() (restore func(), ok bool)
}

// Round is one pass of a policy over a snapshot.
type Round struct {
	Snapshot *Snapshot
	Policy   *Policy
	Profile  *Profile
	mover    Mover
}
