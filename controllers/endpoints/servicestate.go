package endpoints

import (
	"maps"
	"sync"
)

// serviceState is what is remembered of the Services' last looks.
type serviceState struct {
	mu    sync.Mutex
	sizes map[serviceKey]int
	// waiting are the Services of which pods are left out, by the node that is not known.
	waiting map[string]map[serviceKey]bool
}

// record notes how many pods a Service has, and which nodes of theirs are not known.
func (s *serviceState) record(k serviceKey, pods int, unknown map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes == nil {
		s.sizes, s.waiting = map[serviceKey]int{}, map[string]map[serviceKey]bool{}
	}
	s.sizes[k] = pods
	for node := range unknown {
		if s.waiting[node] == nil {
			s.waiting[node] = map[serviceKey]bool{}
		}
		s.waiting[node][k] = true
	}
}

// forget forgets a Service.
func (s *serviceState) forget(k serviceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, k)
	maps.DeleteFunc(s.waiting, func(_ string, of map[serviceKey]bool) bool {
		delete(of, k)
		return len(of) == 0
	})
}

// size is how many pods a Service had.
func (s *serviceState) size(k serviceKey) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes[k]
}

// takeWaiting takes the Services that waited for a node.
func (s *serviceState) takeWaiting(node string) map[serviceKey]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.waiting[node]
	delete(s.waiting, node)
	return of
}
