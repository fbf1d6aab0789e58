package endpoints

import (
	"maps"
	"sync"
)

// seen is what is remembered of the Services' last looks.
type seen struct {
	mu    sync.Mutex
	sizes map[service]int
	// waiting are the Services of which pods are left out, by the node that is not known.
	waiting map[string]map[service]bool
}

// looked notes how many pods a Service has, and which nodes of theirs are not known.
func (s *seen) looked(k service, pods int, unknown map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sizes == nil {
		s.sizes, s.waiting = map[service]int{}, map[string]map[service]bool{}
	}
	s.sizes[k] = pods
	for node := range unknown {
		if s.waiting[node] == nil {
			s.waiting[node] = map[service]bool{}
		}
		s.waiting[node][k] = true
	}
}

// gone forgets a Service.
func (s *seen) gone(k service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, k)
	maps.DeleteFunc(s.waiting, func(_ string, of map[service]bool) bool {
		delete(of, k)
		return len(of) == 0
	})
}

// size is how many pods a Service had.
func (s *seen) size(k service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes[k]
}

// came takes the Services that waited for a node.
func (s *seen) came(node string) map[service]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.waiting[node]
	delete(s.waiting, node)
	return of
}
