package store

import "iter"

// Get returns the object of type T with a key, or nil.
func Get[T Object](s *Store, key string) T {
	var none T
	o, _ := s.Get(KindOf(none), key)
	out, _ := o.(T)
	return out
}

// All returns the objects of type T, sorted by key. They are valid until the next commit, as those of Store.List.
func All[T Object](s *Store) iter.Seq[T] {
	return func(yield func(T) bool) {
		var none T
		for _, o := range s.List(KindOf(none)) {
			if o, ok := o.(T); ok && !yield(o) {
				return
			}
		}
	}
}

// Update is Store.Update for an object of type T.
func Update[T Object](s *Store, key string, pre Precondition, f func(T) error) error {
	var none T
	return s.Update(KindOf(none), key, pre, func(o Object) error {
		out, _ := o.(T) // the objects of a kind have one type
		return f(out)
	})
}
