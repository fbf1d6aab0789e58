package conversion

const (
	// generationSize is the number of values per generation. A cluster uses hundreds of different
	// specifications; the bounds protect against pods that are all different.
	generationSize = 8192
	// generationBytes bounds a generation by the approximate memory of its keys and values. Values that
	// are no longer in the table are not shared.
	generationBytes = 8 << 20
	// entryBytes is the memory of an entry without its key and value.
	entryBytes = 64
)

// internTable stores one of several equal values, by key. A full young generation becomes the old one, and
// a value that is found in the old generation moves to the young one.
type internTable[V any] struct {
	young, old           map[string]V
	youngBytes, oldBytes int
	limit, limitBytes    int
	size                 func(V) int
}

func newInternTable[V any](size func(V) int) internTable[V] {
	return internTable[V]{young: map[string]V{}, limit: generationSize, limitBytes: generationBytes, size: size}
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
	bytes := entryBytes + len(key) + s.size(v)
	if len(s.young) >= s.limit || s.youngBytes > 0 && s.youngBytes+bytes > s.limitBytes {
		s.old, s.young = s.young, make(map[string]V, min(s.limit, len(s.young)))
		s.oldBytes, s.youngBytes = s.youngBytes, 0
	}
	s.young[string(key)] = v
	s.youngBytes += bytes
}

// usage returns the number of entries and their approximate memory in bytes.
func (s *internTable[V]) usage() (entries, bytes int) {
	return len(s.young) + len(s.old), s.youngBytes + s.oldBytes
}
