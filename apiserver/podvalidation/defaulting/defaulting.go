package defaulting

// Set sets *field to value if it has the zero value.
func Set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// SetPointer sets *field to a pointer to value if it is nil.
func SetPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
