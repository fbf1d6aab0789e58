//go:build !linux

package e2e

import "syscall"

// killWithTest returns nil: only Linux can kill a process when its parent ends.
func killWithTest() *syscall.SysProcAttr { return nil }
