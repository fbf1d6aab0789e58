// Package virtual is an operator that keeps one worker pod per ConfigMap, with a test in virtual time.
package virtual
