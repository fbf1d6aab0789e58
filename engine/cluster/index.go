package cluster

import "github.com/berthproject/berth/engine/model"

// Index is what only the fast path of placement reads.
type Index struct{}

func (x *Index) nodeAdded(n *NodeInfo)                       {}
func (x *Index) nodeRemoved(n *NodeInfo)                     {}
func (x *Index) nodeChanged(n *NodeInfo, before *model.Node) {}
func (x *Index) podAdded(n *NodeInfo, p *model.Pod)          {}
func (x *Index) podRemoved(n *NodeInfo, p *model.Pod)        {}
func (x *Index) namespaceChanged(name string)                {}
func (x *Index) groupsChanged(namespace string)              {}
