//go:build tools

// Package critest pins the packages of which critest is built. The command is a test of cri-tools, which no file can
// import.
package critest

import (
	_ "sigs.k8s.io/cri-tools/pkg/benchmark"
	_ "sigs.k8s.io/cri-tools/pkg/validate"
)
