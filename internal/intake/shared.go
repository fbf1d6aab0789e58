package intake

// perGeneration is how many values a generation holds. Shapes in use are counted in
// hundreds; the bound is against pods that are all different.
const perGeneration = 8192

// shared keeps one of equal values, by key. A full young generation becomes the old one;
// what is asked for in the old one moves to the young one.
type shared[V any] struct {
	young, old map[string]V
	limit      int
}

func newShared[V any]() shared[V] { return shared[V]{young: map[string]V{}, limit: perGeneration} }

// get finds the value of a key, or makes it.
func (s *shared[V]) get(key []byte, make func() V) V {
	v, ok := s.young[string(key)]
	if ok {
		return v
	}
	if v, ok = s.old[string(key)]; !ok {
		v = make()
	}
	s.put(key, v)
	return v
}

func (s *shared[V]) put(key []byte, v V) {
	if len(s.young) >= s.limit {
		s.old, s.young = s.young, make(map[string]V, s.limit)
	}
	s.young[string(key)] = v
}
