package stats

import "github.com/berthproject/berth/agent/tree"

// Held is what a directory tree holds on disk.
type Held = tree.Held

// Walk measures a tree. Of what cannot be read the rest counts; a tree that is not there holds nothing.
func Walk(root string) Held {
	held, _ := tree.Measure(root)
	return held
}
