package endpoints

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// serviceState is the state of the last reconciliation of each Service.
type serviceState struct {
	mu    sync.Mutex
	sizes map[serviceKey]int
	// byUnknownNode holds the Services with omitted pods, by the name of the unknown node.
	byUnknownNode map[string]map[serviceKey]bool
}

// record stores the number of pods of a Service and the unknown nodes.
func (s *serviceState) record(k serviceKey, pods int, unknown map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes == nil {
		s.sizes, s.byUnknownNode = map[serviceKey]int{}, map[string]map[serviceKey]bool{}
	}
	s.sizes[k] = pods
	for node := range unknown {
		if s.byUnknownNode[node] == nil {
			s.byUnknownNode[node] = map[serviceKey]bool{}
		}
		s.byUnknownNode[node][k] = true
	}
}

func (s *serviceState) forget(k serviceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, k)
	maps.DeleteFunc(s.byUnknownNode, func(_ string, keys map[serviceKey]bool) bool {
		delete(keys, k)
		return len(keys) == 0
	})
}

// size returns the number of pods of a Service at the last reconciliation.
func (s *serviceState) size(k serviceKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes[k]
}

// takeByUnknownNode removes and returns the Services with pods on a node that was not in the cache, in order.
func (s *serviceState) takeByUnknownNode(node string) []serviceKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.byUnknownNode[node]
	delete(s.byUnknownNode, node)
	return slices.SortedFunc(maps.Keys(keys), func(a, b serviceKey) int { return strings.Compare(a.String(), b.String()) })
}
