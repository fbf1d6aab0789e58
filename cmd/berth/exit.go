package main

import "errors"

// exit is an error that ends berth with a code of its own; all others end it with 1.
type exit struct {
	error
	code int
}

// Unwrap is for errors.Is and errors.As.
func (e exit) Unwrap() error { return e.error }

// codeOf is the code that an error ends berth with.
func codeOf(err error) int {
	var e exit
	if errors.As(err, &e) {
		return e.code
	}
	return 1
}
