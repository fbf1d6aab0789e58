package conversion

// generationSize is the number of values per generation. Specifications in use are counted in
// hundreds; the bound protects against pods that are all different.
const generationSize = 8192

// internTable keeps one of equal values, by key. A full young generation becomes the old one, and
// a value that is found in the old generation moves to the young one.
type internTable[V any] struct {
	young, old map[string]V
	limit      int
}

func newInternTable[V any]() internTable[V] {
	return internTable[V]{young: map[string]V{}, limit: generationSize}
}

// get returns the value of a key, or creates it.
func (s *internTable[V]) get(key []byte, create func() V) V {
	v, ok := s.young[string(key)]
	if ok {
		return v
	}
	if v, ok = s.old[string(key)]; !ok {
		v = create()
	}
	s.put(key, v)
	return v
}

func (s *internTable[V]) put(key []byte, v V) {
	if len(s.young) >= s.limit {
		s.old, s.young = s.young, make(map[string]V, s.limit)
	}
	s.young[string(key)] = v
}
