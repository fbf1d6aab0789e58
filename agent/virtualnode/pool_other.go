//go:build !linux

package virtualnode

import (
	"context"
	"errors"
)

// Pool manages the virtual nodes of one cluster. Only Linux has them.
type Pool struct{}

// CheckRequirements returns an error.
func CheckRequirements() error {
	return errors.New("virtual nodes require Linux; use simulated nodes")
}

// NewPool returns the error of [CheckRequirements].
func NewPool(string) (*Pool, error) { return nil, CheckRequirements() }

// Cleanup does nothing.
func (*Pool) Cleanup(context.Context) error { return nil }
