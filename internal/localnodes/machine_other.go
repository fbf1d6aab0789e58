//go:build !linux

package localnodes

import (
	"errors"
	"math"

	"k8s.io/klog/v2"
)

var errNotLinux = errors.New("running containers requires Linux")

func checkMachine(string) error { return errNotLinux }

// CheckContainerd returns an error: virtual nodes require Linux.
func CheckContainerd() error { return errNotLinux }

// CheckNameservers returns nil: no pod uses the nameservers of this machine.
func CheckNameservers(string) error { return nil }

// MachineMemory returns no limit: no node uses the memory of this machine.
func MachineMemory() (int64, error) { return math.MaxInt64, nil }

// ReserveCPU does nothing.
func ReserveCPU(klog.Logger) (release func()) { return func() {} }
