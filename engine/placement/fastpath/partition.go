package fastpath

import "github.com/berthproject/berth/engine/cluster"

// partition groups the nodes by the values of a partitionKey. These change only with node
// objects, so a scan does not compute them again.
type partition struct {
	key      partitionKey
	slots    []uint8
	logPos   int64  // position up to which the change log was read
	lastUsed uint64 // Engine.clock at the last use
	parts    []nodeBucket
	nodes    [][]cluster.NodeID // by part, in no particular order
	index    bucketIndex
	empty    int              // number of parts without nodes
	places   []partitionPlace // by NodeID
}

// partitionPlace is the position of a node: the part (0: none, 1: the first) and the
// index.
type partitionPlace struct{ part, index int32 }

// partitionOf returns the updated partition of a key, creating it if necessary.
func (e *Engine) partitionOf(key *partitionKey) *partition {
	p := e.partitions[*key]
	if p == nil || !p.update(e.index) {
		e.trimPartitions()
		p = newPartition(e.index, key)
		e.partitions[*key] = p
	}
	p.lastUsed = e.clock
	return p
}

func newPartition(x *cluster.Index, key *partitionKey) *partition {
	p := &partition{key: *key, slots: []uint8{slotStatic}, logPos: x.LogEnd(), places: make([]partitionPlace, len(x.Rows))}
	for i, t := range key.topologies {
		if t != nil {
			p.slots = append(p.slots, uint8(slotFirst+i))
		}
	}
	for i := range x.Rows {
		p.put(x, cluster.NodeID(i))
	}
	return p
}

// trimPartitions drops the least recently used partition if they would exceed 16 MiB.
func (e *Engine) trimPartitions() {
	if len(e.partitions) < max(8, 16<<20/(12*len(e.index.Rows)+1)) {
		return
	}
	var oldest *partition
	for _, p := range e.partitions {
		if oldest == nil || p.lastUsed < oldest.lastUsed { // values are unique
			oldest = p
		}
	}
	delete(e.partitions, oldest.key)
}

// update updates changed nodes. It returns false if creating a new partition is better.
func (p *partition) update(x *cluster.Index) bool {
	entries, ok := x.Log(p.logPos)
	if !ok || p.empty > 64 && p.empty > len(p.parts)/2 {
		return false
	}
	for len(p.places) < len(x.Rows) {
		p.places = append(p.places, partitionPlace{})
	}
	for _, id := range entries {
		if x.StaticChangedSince(id, p.logPos) {
			p.put(x, id)
		}
	}
	p.logPos = x.LogEnd()
	return true
}

// put moves a node to its part, or out of all parts if the node does not exist.
func (p *partition) put(x *cluster.Index, id cluster.NodeID) {
	part := int32(0)
	if x.Rows[id].Exists {
		part = p.partOf(id) + 1
	}
	place := &p.places[id]
	if place.part == part {
		return
	}
	if place.part != 0 {
		nodes := p.nodes[place.part-1]
		last := nodes[len(nodes)-1]
		nodes[place.index] = last
		p.places[last].index = place.index
		p.nodes[place.part-1] = nodes[:len(nodes)-1]
		if len(nodes) == 1 {
			p.empty++
		}
	}
	*place = partitionPlace{part: part}
	if part != 0 {
		place.index = int32(len(p.nodes[part-1]))
		p.nodes[part-1] = append(p.nodes[part-1], id)
		if place.index == 0 {
			p.empty--
		}
	}
}

// partOf returns the part of a node, creating it if necessary.
func (p *partition) partOf(id cluster.NodeID) int32 {
	var key bucketKey
	key[slotStatic] = p.key.static.Values[id]
	for i, t := range p.key.topologies {
		if t != nil {
			key[slotFirst+i] = t.DomainOf[id]
		}
	}
	part := p.index.find(p.parts, &key, p.slots)
	if part < 0 {
		part = int32(len(p.parts))
		p.parts, p.nodes = append(p.parts, nodeBucket{key: key}), append(p.nodes, nil)
		p.index.add(p.parts, p.slots)
		p.empty++
	}
	return part
}

// static returns the value of slotStatic of a node; 0 if the node is in no part.
func (p *partition) static(id cluster.NodeID) int32 {
	if place := p.places[id]; place.part != 0 {
		return p.parts[place.part-1].key[slotStatic]
	}
	return 0
}
