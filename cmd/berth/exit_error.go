package main

import (
	"errors"
)

// exitError is an error that ends berth with a code of its own; all others end it with 1.
type exitError struct {
	error
	code int
}

// Unwrap is for errors.Is and errors.As.
func (e exitError) Unwrap() error { return e.error }

// exitCode is the code that an error ends berth with.
func exitCode(err error) int {
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return 1
}
