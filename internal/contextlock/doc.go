// Package contextlock provides locks that may be held during requests: a caller stops to wait when its context ends.
package contextlock
