//go:build !linux

package e2e

import "syscall"

func killWithTest() *syscall.SysProcAttr { return nil }
