//go:build !linux

package serviceproxy

import (
	"context"
	"errors"
)

// Proxy routes the traffic of Services on this machine. Only Linux has nftables.
type Proxy struct{}

// Check returns why this machine cannot run the proxy.
func Check() error { return errors.New("the service proxy requires Linux") }

// DetectOtherProxy returns "".
func DetectOtherProxy() string { return "" }

// RemoveUnused does nothing.
func RemoveUnused() error { return nil }

// New returns a proxy whose Run fails.
func New(Options) *Proxy { return &Proxy{} }

// Run returns the error of [Check].
func (*Proxy) Run(context.Context) error { return Check() }

// AwaitUnrouted returns at once.
func (*Proxy) AwaitUnrouted(context.Context, []string) {}

// Running returns false.
func Running() bool { return false }
