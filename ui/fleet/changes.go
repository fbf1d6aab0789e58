package fleet

import (
	"maps"
	"slices"
	"strconv"
)

// Changes are nodes and pods that were added, changed or removed.
type Changes struct {
	Nodes        []Node   `json:"nodes,omitempty"`
	DeletedNodes []string `json:"deletedNodes,omitempty"`
	Pods         *Columns `json:"pods,omitempty"`
	DeletedPods  []string `json:"deletedPods,omitempty"` // namespace/name
}

// Empty reports whether there are no changes.
func (c *Changes) Empty() bool {
	return len(c.Nodes)+len(c.DeletedNodes)+len(c.DeletedPods) == 0 && c.Pods == nil
}

// AddPod adds a pod that was added or changed.
func (c *Changes) AddPod(p *Pod) {
	if c.Pods == nil {
		c.Pods = &Columns{indexes: map[string]int{}, requests: map[string]int{}}
	}
	c.Pods.add(p)
}

// Columns are pods by column. The columns Namespace, Node, Owner and QoS have indexes into Strings, and Request
// into Requests.
type Columns struct {
	Strings   []string             `json:"strings"`
	Requests  []map[string]float64 `json:"requests"`
	Name      []string             `json:"name"`
	Namespace []int                `json:"namespace"`
	Node      []int                `json:"node"`
	Owner     []int                `json:"owner"`
	QoS       []int                `json:"qos"`
	Request   []int                `json:"request"`
	Priority  []int32              `json:"priority"`

	indexes  map[string]int // of Strings
	requests map[string]int // indexes of Requests
	key      []byte
}

func (c *Columns) add(p *Pod) {
	c.Name = append(c.Name, p.Name)
	c.Namespace = append(c.Namespace, c.index(p.Namespace))
	c.Node = append(c.Node, c.index(p.Node))
	c.Owner = append(c.Owner, c.index(p.Owner))
	c.QoS = append(c.QoS, c.index(p.QoS))
	c.Request = append(c.Request, c.requestIndex(p.Requests))
	c.Priority = append(c.Priority, p.Priority)
}

func (c *Columns) index(s string) int {
	i, ok := c.indexes[s]
	if !ok {
		i = len(c.Strings)
		c.indexes[s] = i
		c.Strings = append(c.Strings, s)
	}
	return i
}

func (c *Columns) requestIndex(requests map[string]float64) int {
	c.key = c.key[:0]
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		c.key = append(append(c.key, name...), '=')
		c.key = append(strconv.AppendFloat(c.key, requests[name], 'g', -1, 64), ' ')
	}
	i, ok := c.requests[string(c.key)]
	if !ok {
		i = len(c.Requests)
		c.requests[string(c.key)] = i
		c.Requests = append(c.Requests, requests)
	}
	return i
}
