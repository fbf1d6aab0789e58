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

// meters is the state of the meters.
type meters struct {
	at            time.Time
	cpu           time.Duration
	allocs, bytes uint64
	decisions     int
	deciding      time.Duration
}

func readMeters(clock *timedPlacer) meters {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meters{at: time.Now(), cpu: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), allocs: m.Mallocs, bytes: m.TotalAlloc,
		decisions: clock.decisions, deciding: clock.elapsed}
}

// since records what was used since an earlier reading.
func (r meters) since(before meters, out *Result) {
	out.Seconds, out.CPU = r.at.Sub(before.at).Seconds(), (r.cpu - before.cpu).Seconds()
	out.Allocs, out.Bytes = float64(r.allocs-before.allocs), float64(r.bytes-before.bytes)
	out.Decisions, out.Deciding = float64(r.decisions-before.decisions), (r.deciding - before.deciding).Seconds()
}

// peakRSS returns the peak resident memory of the process in bytes, as reported by the
// kernel.
func peakRSS() (float64, error) {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("/proc/self/status: no line VmHWM")
}
