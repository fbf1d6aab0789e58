// Package contextlock provides locks that may be held during requests. A caller stops waiting when its context ends.
package contextlock
