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

// readings are the resource usage and the decisions of this process since its start.
type readings struct {
	at            time.Time
	cpu           time.Duration
	allocs, bytes uint64
	decisions     int
	deciding      time.Duration // time of the decisions
}

func readMeters(placer *timedPlacer) readings {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return readings{at: time.Now(), cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), allocs: m.Mallocs, bytes: m.TotalAlloc,
		decisions: placer.decisions, deciding: placer.elapsed}
}

// since records the usage since an earlier reading.
func (m readings) since(before readings, out *Result) {
	out.Seconds, out.CPU = m.at.Sub(before.at).Seconds(), (m.cpu - before.cpu).Seconds()
	out.Allocs, out.Bytes = float64(m.allocs-before.allocs), float64(m.bytes-before.bytes)
	out.Decisions, out.Deciding = float64(m.decisions-before.decisions), (m.deciding - before.deciding).Seconds()
}

// peakRSS returns the peak resident memory of the process in bytes, as reported by the
// kernel.
func peakRSS() (float64, error) {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("/proc/self/status: no line VmHWM")
}
