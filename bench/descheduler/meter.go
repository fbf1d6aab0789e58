package main

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processUsage is the resource usage of this process since its start.
type processUsage struct {
	at     time.Time
	cpu    time.Duration
	allocs uint64
}

func readUsage() processUsage {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails only for bad arguments
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return processUsage{at: time.Now(), cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), allocs: m.Mallocs}
}

// addUsageSince adds the usage since an earlier reading to the result. It sets the peak memory of the process.
func (m processUsage) addUsageSince(before processUsage, r *Result) error {
	r.CPU += (m.cpu - before.cpu).Seconds()
	r.Seconds += m.at.Sub(before.at).Seconds()
	r.Allocs += float64(m.allocs - before.allocs)
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			r.PeakRSS = kib * 1024
			return err
		}
	}
	return errors.New("/proc/self/status: no line VmHWM")
}
